/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_counts.h"

void perf_counts_release(struct perf_counts *c)
{
	vec_release(&c->rows);
	index_release(&c->by_id);
}

static bool count_equal(const void *table, uint32_t row, const void *key)
{
	const struct perf_count *count = &((const struct perf_counts *)table)->rows.items[row];
	const struct perf_count *wanted = key;

	return count->id == wanted->id && count->tid == wanted->tid;
}

uint64_t perf_counts_increase(struct perf_counts *c, uint64_t id, uint32_t tid, uint64_t value)
{
	const struct perf_count wanted = {.id = id, .tid = tid};
	uint64_t hash = hash_pair(id, tid), before;
	uint32_t row = index_find(&c->by_id, hash, count_equal, c, &wanted);

	if (row == INDEX_NONE) {
		row = (uint32_t)c->rows.count;
		index_add(&c->by_id, hash, row);
		vec_push(&c->rows, wanted);
	}
	before = c->rows.items[row].value;
	c->rows.items[row].value = value;
	/* A smaller count is a new start: ids of ended threads may be reused. */
	return value < before ? value : value - before;
}
