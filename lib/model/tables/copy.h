/* SPDX-License-Identifier: MIT */
/*
 * Rows of one profile as rows of another. Only this lists what a row holds; the caller's rules say
 * what becomes of its texts, times and stacks.
 */
#ifndef PROF_LIB_MODEL_TABLES_COPY_H
#define PROF_LIB_MODEL_TABLES_COPY_H

#include "lib/model/tables/counters.h"
#include "lib/model/tables/markers.h"
#include "lib/model/tables/threads.h"

struct copy_rules {
	void *ctx;
	/* The text in the new profile; never asked for NO_STRING. */
	string_id (*text)(void *ctx, string_id id);
	/* CLOCK_MONOTONIC ns of both; NULL: times stay. */
	uint64_t (*time)(void *ctx, uint64_t time);
	/* The stack in the new profile; never asked for NO_STACK. NULL: stacks are not copied. */
	stack_id (*stack)(void *ctx, stack_id id);
};

/* Returns the thread without samples, markers and allocations. */
struct profile_thread copy_thread_row(const struct profile_thread *from,
				      const struct copy_rules *rules);
/* Returns the counter without samples. */
struct counter copy_counter_row(const struct counter *from, const struct copy_rules *rules);
struct allocation copy_allocation_row(const struct allocation *from,
				      const struct copy_rules *rules);
/* Changes the texts of a schema; fields are the caller's. */
void copy_schema_texts(struct schema *row, struct schema_field *fields,
		       const struct copy_rules *rules);
/* Returns a marker of a schema of `into`, without any value. */
struct marker copy_marker_row(struct markers *into, schema_id schema, const struct marker *from,
			      const struct copy_rules *rules);
struct marker_value copy_marker_value(const struct marker_value *from,
				      const struct copy_rules *rules);

#endif
