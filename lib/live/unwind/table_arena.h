/* SPDX-License-Identifier: MIT */
/*
 * Memory that the walker reads: for the one in the kernel maps of UNWIND_SHARD_BYTES, mapped into
 * this process and filled with plain stores. Made when needed, up to a ceiling.
 */
#ifndef PROF_LIB_LIVE_UNWIND_TABLE_ARENA_H
#define PROF_LIB_LIVE_UNWIND_TABLE_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

/* A piece of a shard, in words of 4 bytes, aligned to 16 of them. */
struct shard_piece {
	uint32_t shard, at, words;
};

struct shard {
	int fd; /* -1: plain memory */
	uint32_t *words;
	VEC(struct shard_piece) holes; /* ascending, never touching each other */
};

struct shards {
	int maps_fd; /* the array of shards, borrowed; -1: no map has them, but plain memory */
	uint64_t max_bytes;
	VEC(struct shard) rows;
};

void shards_init(struct shards *s, int maps_fd, uint64_t max_bytes);
/* The first one, which is in the array already; the descriptor is taken over. */
void shards_adopt(struct shards *s, int fd);
void shards_release(struct shards *s);
/* False where the ceiling is reached, or where the piece is larger than a shard. */
bool shards_alloc(struct shards *s, uint32_t words, struct shard_piece *piece);
/* Nobody may look at it any more. */
void shards_free(struct shards *s, const struct shard_piece *piece);
uint32_t *shards_words(const struct shards *s, const struct shard_piece *piece);

#endif
