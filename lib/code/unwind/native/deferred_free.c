/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/deferred_free.h"

/*
 * Minimum time to keep memory that the walker may still read: a fork in the kernel copies a
 * reference to it, which is replaced only after the fork's record has been read.
 */
#define GRACE_ROUNDS 4
#define GRACE_NS 50000000ull

void deferred_free_release(struct deferred_free *g)
{
	vec_release(&g->rows);
}

void deferred_free_add(struct deferred_free *g, const struct shard_piece *piece, uint64_t now)
{
	if (piece->words)
		vec_push(&g->rows, (struct deferred_free_row){*piece, g->round, now});
}

void deferred_free_collect(struct deferred_free *g, struct table_arena *arena, uint64_t now)
{
	size_t count = 0;

	while (count < g->rows.count) {
		const struct deferred_free_row *row = &g->rows.items[count];

		if (row->round + GRACE_ROUNDS > g->round || row->time + GRACE_NS > now)
			break;
		table_arena_free(arena, &row->piece);
		count++;
	}
	if (!count)
		return;
	g->rows.count -= count;
	memmove(g->rows.items, g->rows.items + count, g->rows.count * sizeof(*g->rows.items));
}
