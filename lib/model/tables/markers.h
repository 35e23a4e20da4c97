/* SPDX-License-Identifier: MIT */
/*
 * Markers: events on a thread at an instant or over an interval. The schema of a marker lists its
 * fields, so any marker can be read, shown and searched without knowing its meaning.
 */
#pragma once

#include "lib/model/facts/facts.h"
#include "lib/model/tables/ids.h"
#include "lib/model/tables/strings.h"

/*
 * Schemas of markers: name, labels, places in front-ends, and fields. With the schema, code can
 * read any marker, whatever its meaning.
 */

#define MARKER_SCHEMAS_MAX 1024
#define SCHEMA_FIELDS_MAX 32

/* Returns the name of the schema's group; NULL if it has none. */
const char *schema_group(uint32_t shown);

struct schema_field {
	string_id key; /* an identifier, unique in the schema */
	string_id label; /* NO_STRING: same as the key */
	uint8_t type; /* enum field_type, not FIELD_NONE */
	uint8_t personal; /* bit n: its writer states personal data of kind n; 0: nothing stated */
};

/*
 * Labels are templates: "{marker.data.KEY}", "{marker.name}". NO_STRING: the front-end's default.
 */
struct schema {
	string_id name; /* unique */
	string_id chart_label, table_label, tooltip_label;
	uint32_t shown; /* SHOWN_…, and a group */
	uint32_t first_field;
	uint32_t field_count;
};

struct schemas {
	VEC(struct schema) rows;
	VEC(struct schema_field) fields;
};

/*
 * Returns the schema with these fields, new or existing; sets first_field. A field is as personal
 * as either states. NO_SCHEMA if the name belongs to a different schema, or there are too many
 * schemas or fields.
 */
schema_id schemas_intern(struct schemas *s, const struct schema *schema,
			 const struct schema_field *fields);
/* Returns NO_SCHEMA if no schema has that name. */
schema_id schemas_find(const struct schemas *s, string_id name);
const struct schema *schemas_get(const struct schemas *s, schema_id id);
/* Returns field_count fields; NULL if there are none. */
const struct schema_field *schema_fields(const struct schemas *s, const struct schema *schema);
/* Returns the number of the field with that key, or field_count. */
uint32_t schema_find_field(const struct schemas *s, const struct schema *schema, string_id key);

/* Adds constant schemas. */

/* Like schemas_intern(). */
schema_id schema_text_intern(const struct marker_schema *text, struct schemas *schemas,
			     struct strings *strings);
/* Returns NO_SCHEMA if no schema has that name. */
schema_id schema_text_find(enum marker_id id, const struct schemas *schemas,
			   const struct strings *strings);
/*
 * Adds the schemas that every session has, with their enum marker_id as ids. Call before adding any
 * other schema.
 */
void schema_text_intern_first(struct schemas *schemas, struct strings *strings);

struct marker_value {
	uint8_t type; /* enum field_type; FIELD_NONE: no value */
	union {
		string_id string;
		stack_id stack;
		uint64_t number; /* for all other types; signed integers in two's complement */
	};
	uint64_t time; /* for a stack: CLOCK_MONOTONIC ns at which it was captured; 0: unknown */
};

/* A thread's list is unordered. */
struct marker {
	uint64_t start, end; /* CLOCK_MONOTONIC ns; equal for an instant */
	schema_id schema;
	string_id name;
	string_id category; /* NO_STRING: none */
	uint32_t first_value; /* index for the value functions below; markers may share values */
	bool is_told; /* reported by the program itself */
	bool is_frame; /* the name appears as a frame in the thread's stacks during the marker */
	/*
	 * Task that caused the marker, and to which the stack of marker_cause() belongs; 0: the
	 * marker's own task.
	 */
	uint32_t cause_tid;
	uint64_t cause_time; /* CLOCK_MONOTONIC ns; 0: same as `start` */
};

struct markers {
	struct schemas schemas;
	VEC(struct marker_value) values;
};

void markers_release(struct markers *m);
/* Returns a marker named after its schema, without values. */
struct marker markers_make(struct markers *m, schema_id schema, uint64_t start, uint64_t end);

/*
 * Returns the value of a field, by its number in the schema, for reading or setting. Number
 * field_count is the stack of the cause. Valid until the next markers_make().
 */
struct marker_value *marker_value(const struct markers *m, const struct marker *marker,
				  uint32_t field);
/* Returns NO_STACK if there is no cause, or if its stack is unknown. */
stack_id marker_cause(const struct markers *m, const struct marker *marker);

static inline struct marker_value marker_string(string_id string)
{
	return (struct marker_value){.type = FIELD_STRING, .string = string};
}

static inline struct marker_value marker_integer(int64_t number)
{
	return (struct marker_value){.type = FIELD_INTEGER, .number = (uint64_t)number};
}

static inline struct marker_value marker_stack(stack_id stack)
{
	return (struct marker_value){.type = FIELD_STACK, .stack = stack};
}

/* Quantities over time, of a process or of the machine: memory, bytes read, energy. */

#define COUNTERS_MAX (1u << 20)

struct counter_sample {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	int64_t delta; /* since the previous sample */
};

/* Strings may be NO_STRING. */
struct counter {
	/* Pid and incarnation of the process; pid 0: a machine counter. */
	uint32_t pid, incarnation;
	string_id name, category, description;
	string_id label; /* name of the counter: "Memory" */
	string_id unit; /* "bytes", "pWh", "percent" or any other word */
	string_id color; /* one of the graph colours of the front-end */
	uint8_t graph; /* enum counter_graph */
	VEC(struct counter_sample) samples; /* in ascending order of time, one per time */
};

struct profile_counters {
	VEC(struct counter) rows;
};

void profile_counters_release(struct profile_counters *c);
/* Takes ownership of like->samples. Returns NO_COUNTER if there are too many counters. */
counter_id profile_counters_add(struct profile_counters *c, const struct counter *like);
/*
 * Adds with wraparound: deltas of a hostile stream may overflow, and their sum is then meaningless
 * but defined.
 */
static inline int64_t counter_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Inserts in order of time, mostly at the end. Adds to an existing sample of the same time. */
void counter_add_sample(struct counter *counter, uint64_t time, int64_t delta);
/*
 * Drops about half of the samples: adds each dropped sample to its successor, and keeps the first.
 * Running sums at the remaining samples do not change. Returns the number dropped.
 */
size_t counter_halve(struct counter *counter);
