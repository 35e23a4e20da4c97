/* SPDX-License-Identifier: MIT */
/*
 * What happened on a thread at a moment or for some time. A marker's fields are those of its
 * schema, so that they can be read, shown and searched without knowing what it is about.
 */
#ifndef PROF_LIB_PROFILE_MARKERS_H
#define PROF_LIB_PROFILE_MARKERS_H

#include "lib/profile/schemas.h"

struct marker_value {
	uint8_t type; /* enum field_type: that of the field, or FIELD_NONE */
	union {
		string_id string;
		stack_id stack;
		uint64_t number; /* of all other types; of an integer, its two's complement */
	};
	uint64_t time; /* of a stack: when it was taken, CLOCK_MONOTONIC ns; 0: not known */
};

/* In a thread's list they have no particular order. */
struct marker {
	uint64_t start, end; /* CLOCK_MONOTONIC ns; equal: an instant */
	schema_id schema;
	string_id name;
	string_id category; /* NO_STRING: none in particular */
	uint32_t first_value; /* for the functions below */
	/* The task that caused it, of which marker_cause() is the stack; 0: the marker's own. */
	uint32_t cause_tid;
	uint64_t cause_time; /* CLOCK_MONOTONIC ns; 0: its start */
};

struct markers {
	struct schemas schemas;
	VEC(struct marker_value) values;
};

void markers_release(struct markers *m);
/* A marker with the name of its schema, and without any value yet. */
struct marker markers_make(struct markers *m, schema_id schema, uint64_t start, uint64_t end);

/*
 * The value of a field by its number in the schema, to be read or set; field_count is the cause's
 * stack. Valid until the next markers_make().
 */
struct marker_value *marker_value(const struct markers *m, const struct marker *marker,
				  uint32_t field);
/* NO_STACK: there is none, or it is not known. */
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
