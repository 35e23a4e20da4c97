/* SPDX-License-Identifier: MIT */
/* Allocations by the threads that made them; profiles keep them with their main thread. */
#pragma once

#include "lib/base/vec.h"
#include "lib/model/tables/profile.h"

struct allocator_row {
	thread_id thread; /* thread that made the allocation; the main thread if it is unknown */
	const struct allocation *allocation; /* row of the profile */
};

/* Zeroed is empty. */
struct allocators {
	VEC(struct allocator_row) rows; /* in ascending order of thread and time */
};

/* Finds the threads of all allocations of the profile, which must stay. */
void allocators_find(struct allocators *a, const struct profile *p);
void allocators_release(struct allocators *a);

/* The rows of a thread: for (const struct allocator_row *row …). */
#define allocators_for_each(a, id, row) \
	for (const struct allocator_row *row = allocators_first(a, id); \
	     row < (a)->rows.items + (a)->rows.count && row->thread == (id); row++)
/* Returns the thread's first row, or where it would be. */
const struct allocator_row *allocators_first(const struct allocators *a, thread_id thread);
