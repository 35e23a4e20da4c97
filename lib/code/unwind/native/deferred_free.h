/* SPDX-License-Identifier: MIT */
/* Delays the freeing of shard pieces until the walker can no longer read them. */
#pragma once

#include "lib/code/unwind/native/table_pool.h"

struct deferred_free_row {
	struct shard_piece piece;
	uint64_t round, time;
};

/* A zeroed struct is empty. */
struct deferred_free {
	uint64_t round; /* counted by the owner */
	VEC(struct deferred_free_row) rows; /* in order of `now` */
};

void deferred_free_release(struct deferred_free *g);
/* Adds a piece that no description refers to from `now` (ns) on. Ignores empty pieces. */
void deferred_free_add(struct deferred_free *g, const struct shard_piece *piece, uint64_t now);
/* Frees the pieces that are old enough. */
void deferred_free_collect(struct deferred_free *g, struct table_arena *arena, uint64_t now);
