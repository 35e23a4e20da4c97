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

struct table_arena {
	int maps_fd; /* the array of shards, borrowed; -1: no map has them, but plain memory */
	uint64_t max_bytes;
	VEC(struct shard) rows;
};

void table_arena_init(struct table_arena *s, int maps_fd, uint64_t max_bytes);
/* The first one, which is in the array already; the descriptor is taken over. */
void table_arena_adopt(struct table_arena *s, int fd);
void table_arena_release(struct table_arena *s);
/* False where the ceiling is reached, or where the piece is larger than a shard. */
bool table_arena_alloc(struct table_arena *s, uint32_t words, struct shard_piece *piece);
/* Nobody may look at it any more. */
void table_arena_free(struct table_arena *s, const struct shard_piece *piece);
uint32_t *table_arena_words(const struct table_arena *s, const struct shard_piece *piece);

#endif
