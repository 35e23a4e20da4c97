/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/threads.h"

const char *const allocation_sum_names[ALLOCATION_SUM_COUNT] = {
	[ALLOCATED] = "allocated",
	[RETAINED] = "retained",
	[DEALLOCATED] = "deallocated",
};

uint64_t allocation_bytes(const struct allocation *row, enum allocation_sum sum)
{
	if (sum == ALLOCATED || (sum == RETAINED) == !row->freed)
		return row->bytes;
	return 0;
}

/* An allocation precedes a free at the same time. */
ORDER(compare, struct allocation_event,
      COMPARE(a->time, b->time) ?: COMPARE(a->is_free, b->is_free) ?: COMPARE(a->row, b->row))

void allocations_list(const struct allocations *a, struct allocation_events *events)
{
	vec_clear(&events->rows);
	for (uint32_t i = 0; i < a->rows.count; i++) {
		const struct allocation *row = &a->rows.items[i];

		vec_push(&events->rows, (struct allocation_event){.time = row->time, .row = i});
		if (row->freed)
			vec_push(&events->rows, (struct allocation_event){row->freed, i, true});
	}
	vec_sort(&events->rows, compare);
}

static void release(struct profile_thread *row)
{
	samples_release(&row->samples);
	vec_release(&row->markers);
	vec_release(&row->allocations.rows);
}

void threads_release(struct threads *t)
{
	vec_for_each(&t->rows, struct profile_thread *, row)
		release(row);
	vec_release(&t->rows);
}

thread_id threads_add(struct threads *t, const struct profile_thread *thread)
{
	vec_push(&t->rows, *thread);
	return (thread_id)(t->rows.count - 1);
}

struct profile_thread *threads_get(struct threads *t, thread_id id)
{
	return &t->rows.items[id];
}

void threads_keep(struct threads *t, const bool *is_kept)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->rows.count; i++) {
		if (is_kept[i])
			t->rows.items[kept++] = t->rows.items[i];
		else
			release(&t->rows.items[i]);
	}
	t->rows.count = kept;
}
