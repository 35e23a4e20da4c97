/* SPDX-License-Identifier: MIT */
/* Pieces of shards that the walker may still look at, until it no longer can. */
#ifndef PROF_LIB_UNWIND_NATIVE_DEFERRED_FREE_H
#define PROF_LIB_UNWIND_NATIVE_DEFERRED_FREE_H

#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/unwind/native/table_arena.h"

struct deferred_free_row {
	struct shard_piece piece;
	uint64_t round, time;
};

/* A zeroed one is empty. */
struct deferred_free {
	uint64_t round; /* counted by the owner */
	VEC(struct deferred_free_row) rows; /* in order of time */
};

void deferred_free_release(struct deferred_free *g);
/* Nobody is led to the piece from now on, in ns. Pieces without words are passed over. */
void deferred_free_add(struct deferred_free *g, const struct shard_piece *piece, uint64_t now);
/* Frees what is old enough. */
void deferred_free_collect(struct deferred_free *g, struct table_arena *arena, uint64_t now);

#endif
