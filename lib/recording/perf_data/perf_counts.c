/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_counts.h"

void perf_counts_release(struct perf_counts *c)
{
	vec_release(&c->rows);
	index_release(&c->by_id);
}

INDEX_EQUAL(count_equal, struct perf_counts, rows, a->id == b->id && a->tid == b->tid)

uint64_t perf_counts_increase(struct perf_counts *c, uint64_t id, uint32_t tid, uint64_t value)
{
	const struct perf_count wanted = {.id = id, .tid = tid};
	uint64_t hash = hash_pair(id, tid), before;
	uint32_t row = index_intern(&c->by_id, hash, count_equal, c, &wanted, c->rows.count);

	if (row == c->rows.count)
		vec_push(&c->rows, wanted);
	before = c->rows.items[row].value;
	c->rows.items[row].value = value;
	/* A decrease means a restart: ids of ended threads may be reused. */
	return value < before ? value : value - before;
}
