/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/allocations.h"

#include <stdlib.h>

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

/* The allocation comes before an end of the same time. */
static int compare(const void *left, const void *right)
{
	const struct allocation_event *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->is_free != b->is_free)
		return a->is_free ? 1 : -1;
	return a->row < b->row ? -1 : a->row > b->row;
}

void allocations_list(const struct allocations *a, struct allocation_events *events)
{
	vec_clear(&events->rows);
	for (uint32_t i = 0; i < a->rows.count; i++) {
		const struct allocation *row = &a->rows.items[i];

		vec_push(&events->rows, (struct allocation_event){.time = row->time, .row = i});
		if (row->freed)
			vec_push(&events->rows, (struct allocation_event){row->freed, i, true});
	}
	if (events->rows.count)
		qsort(events->rows.items, events->rows.count, sizeof(*events->rows.items), compare);
}
