/* SPDX-License-Identifier: MIT */
/*
 * Copies rows of one profile into another. Only this file lists the members of a row; the caller's
 * rules convert its strings, times and stacks.
 */
#pragma once

#include "lib/model/tables/markers.h"
#include "lib/model/tables/threads.h"

struct copy_rules {
	void *ctx;
	/* Returns the string in the new profile; never called for NO_STRING. */
	string_id (*text)(void *ctx, string_id id);
	/*
	 * Converts a time between the CLOCK_MONOTONIC of both profiles; NULL: times stay unchanged.
	 */
	uint64_t (*time)(void *ctx, uint64_t time);
	/*
	 * Returns the stack in the new profile; never called for NO_STACK. NULL: stacks are not
	 * copied.
	 */
	stack_id (*stack)(void *ctx, stack_id id);
};

/* Returns the thread without samples, markers and allocations. */
struct profile_thread copy_thread_row(const struct profile_thread *from,
				      const struct copy_rules *rules);
/* Returns the counter without samples. */
struct counter copy_counter_row(const struct counter *from, const struct copy_rules *rules);
struct allocation copy_allocation_row(const struct allocation *from,
				      const struct copy_rules *rules);
/* Converts the strings of a schema; the caller converts its fields. */
void copy_schema_texts(struct schema *row, struct schema_field *fields,
		       const struct copy_rules *rules);
/* Returns a marker with this schema; the caller copies the values and sets the first one. */
struct marker copy_marker_row(schema_id schema, const struct marker *from,
			      const struct copy_rules *rules);
struct marker_value copy_marker_value(const struct marker_value *from,
				      const struct copy_rules *rules);
