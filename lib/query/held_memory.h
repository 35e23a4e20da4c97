/* SPDX-License-Identifier: MIT */
/* Finds the functions that hold recorded allocations: at the end, or when most was held. */
#pragma once

#include "lib/query/digest.h"

struct held_place {
	stack_id stack; /* ends in the user's function that allocated, or else in the innermost */
	stack_id caller; /* the same of its caller; NO_STACK: unknown */
	uint64_t bytes;
};

struct held_memory {
	uint64_t bytes; /* sum of the rows */
	/*
	 * CLOCK_MONOTONIC ns, the first time at which most was held; 0: the end, as little less
	 * was held then.
	 */
	uint64_t time;
	VEC(struct held_place) rows; /* by descending bytes; empty: no allocations were recorded */
};

/*
 * The digest is of a query for the clock's samples, whose threads are selected. Wrappers of
 * allocators do not count as functions that allocate. Released by vec_release(&h->rows).
 */
void held_memory_find(struct held_memory *h, const struct query *q,
		      const struct query_filter *filter, const struct digest *digest);
