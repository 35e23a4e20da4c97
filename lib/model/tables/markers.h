/* SPDX-License-Identifier: MIT */
/*
 * Markers: events on a thread at an instant or over an interval. The schema of a marker lists its
 * fields, so any marker can be read, shown and searched without knowing its meaning.
 */
#pragma once

#include "lib/model/tables/schemas.h"

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
	uint32_t first_value; /* index for the value functions below */
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
