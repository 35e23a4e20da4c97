/* SPDX-License-Identifier: MIT */
/*
 * Memory that a walker reads: shards of UNWIND_SHARD_BYTES, filled with plain stores. Made when
 * needed, up to a ceiling, of this process's memory or of what a source has, such as maps that the
 * walker in the kernel reads.
 */
#ifndef PROF_LIB_UNWIND_NATIVE_TABLE_ARENA_H
#define PROF_LIB_UNWIND_NATIVE_TABLE_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

/* Who has the memory. */
struct shard_source {
	/* UNWIND_SHARD_BYTES for the shard of that number, zeroed; NULL with errno set. */
	uint32_t *(*make)(void *ctx, uint32_t id);
	void (*drop)(void *ctx, uint32_t id, uint32_t *words);
	void *ctx;
};

/* A piece of a shard, in words of 4 bytes, aligned to 16 of them. */
struct shard_piece {
	uint32_t shard, at, words;
};

struct shard {
	uint32_t *words;
	VEC(struct shard_piece) holes; /* ascending, never touching each other */
};

struct table_arena {
	struct shard_source source;
	uint64_t max_bytes;
	VEC(struct shard) rows;
};

/* The source is copied; NULL: memory of this process. */
void table_arena_init(struct table_arena *s, const struct shard_source *source, uint64_t max_bytes);
void table_arena_release(struct table_arena *s);
/* False where the ceiling is reached, or where the piece is larger than a shard. */
bool table_arena_alloc(struct table_arena *s, uint32_t words, struct shard_piece *piece);
/* Nobody may look at it any more. */
void table_arena_free(struct table_arena *s, const struct shard_piece *piece);
uint32_t *table_arena_words(const struct table_arena *s, const struct shard_piece *piece);

#endif
