/* SPDX-License-Identifier: MIT */
/* Pieces of shards that the walker may still look at, until it no longer can. */
#ifndef PROF_LIB_LIVE_UNWIND_DEFERRED_FREE_H
#define PROF_LIB_LIVE_UNWIND_DEFERRED_FREE_H

#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/live/unwind/table_arena.h"

struct shard_garbage_row {
	struct shard_piece piece;
	uint64_t round, time;
};

/* A zeroed one is empty. */
struct shard_garbage {
	uint64_t round; /* counted by the owner */
	VEC(struct shard_garbage_row) rows; /* in order of time */
};

void shard_garbage_release(struct shard_garbage *g);
/* Nobody is led to the piece from now on, in ns. Pieces without words are passed over. */
void shard_garbage_add(struct shard_garbage *g, const struct shard_piece *piece, uint64_t now);
/* Frees what is old enough. */
void shard_garbage_collect(struct shard_garbage *g, struct shards *shards, uint64_t now);

#endif
