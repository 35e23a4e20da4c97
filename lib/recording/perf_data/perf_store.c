/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_store.h"

#include <string.h>

#include "lib/base/alloc.h"

void perf_store_release(struct perf_store *s)
{
	vec_for_each(&s->blocks, uint8_t **, block)
		free(*block);
	vec_release(&s->blocks);
	vec_release(&s->order);
}

bool perf_store_add(struct perf_store *s, uint64_t time, const void *record, size_t size)
{
	size_t place;

	if (!s->blocks.count || PERF_BLOCK_SIZE - s->used < size) {
		if ((s->blocks.count + 1) * PERF_BLOCK_SIZE > PERF_STORE_MAX)
			return false;
		vec_push(&s->blocks, xmalloc(PERF_BLOCK_SIZE));
		s->used = 0;
	}
	memcpy(vec_last(&s->blocks) + s->used, record, size);
	place = ((s->blocks.count - 1) * PERF_BLOCK_SIZE + s->used) / 8;
	s->used += (size + 7) & ~(size_t)7;
	vec_push(&s->order, (struct radix_row){time, (uint32_t)place});
	return true;
}

void perf_store_sort(struct perf_store *s)
{
	radix_sort(s->order.items, s->order.count);
}
