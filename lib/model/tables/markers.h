/* SPDX-License-Identifier: MIT */
/*
 * Markers: events on a thread at a moment or over an interval. The fields of a marker are those of
 * its schema, so any marker can be read, shown and searched without knowing what it means.
 */
#ifndef PROF_LIB_MODEL_TABLES_MARKERS_H
#define PROF_LIB_MODEL_TABLES_MARKERS_H

#include <stdbool.h>

#include "lib/model/tables/schemas.h"

struct marker_value {
	uint8_t type; /* enum field_type of the field, or FIELD_NONE */
	union {
		string_id string;
		stack_id stack;
		uint64_t number; /* every other type; integers in two's complement */
	};
	uint64_t time; /* of a stack: when it was taken, CLOCK_MONOTONIC ns; 0: not known */
};

/* A thread's list is unordered. */
struct marker {
	uint64_t start, end; /* CLOCK_MONOTONIC ns; equal: an instant */
	schema_id schema;
	string_id name;
	string_id category; /* NO_STRING: none */
	uint32_t first_value; /* index for the functions below */
	bool is_told; /* by the program itself */
	bool is_frame; /* its name belongs to the thread's stacks meanwhile */
	/* Task that caused the marker, whose stack is marker_cause(). 0: the marker's own task. */
	uint32_t cause_tid;
	uint64_t cause_time; /* CLOCK_MONOTONIC ns; 0: start */
};

struct markers {
	struct schemas schemas;
	VEC(struct marker_value) values;
};

void markers_release(struct markers *m);
/* Returns a marker named like its schema, without any value. */
struct marker markers_make(struct markers *m, schema_id schema, uint64_t start, uint64_t end);

/*
 * The value of a field by its number in the schema, to be read or set; number field_count is the
 * stack of the cause. Valid until the next markers_make().
 */
struct marker_value *marker_value(const struct markers *m, const struct marker *marker,
				  uint32_t field);
/* Returns NO_STACK if none or it is unknown. */
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

#endif
