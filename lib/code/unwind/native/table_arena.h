/* SPDX-License-Identifier: MIT */
/*
 * Memory that a walker reads: shards of UNWIND_SHARD_BYTES, filled with plain stores. Shards are
 * made when needed, up to a ceiling, in this process's memory or a source's, such as maps that the
 * kernel's walker reads.
 */
#ifndef PROF_LIB_CODE_UNWIND_NATIVE_TABLE_ARENA_H
#define PROF_LIB_CODE_UNWIND_NATIVE_TABLE_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

/* Provides the memory of shards. */
struct shard_source {
	/* Returns UNWIND_SHARD_BYTES for shard `id`, zeroed; NULL with errno set. */
	uint32_t *(*make)(void *ctx, uint32_t id);
	void (*drop)(void *ctx, uint32_t id, uint32_t *words);
	void *ctx;
};

/* A piece of a shard, in words of 4 bytes, aligned to 16 words. */
struct shard_piece {
	uint32_t shard, at, words;
};

struct shard {
	uint32_t *words;
	VEC(struct shard_piece) holes; /* ascending, never adjacent */
};

struct table_arena {
	struct shard_source source;
	uint64_t max_bytes;
	VEC(struct shard) rows;
};

/* Copies the source; NULL: memory of this process. */
void table_arena_init(struct table_arena *s, const struct shard_source *source, uint64_t max_bytes);
void table_arena_release(struct table_arena *s);
/* False if the ceiling is reached or the piece is larger than a shard. */
bool table_arena_alloc(struct table_arena *s, uint32_t words, struct shard_piece *piece);
/* The piece must not be read any more. */
void table_arena_free(struct table_arena *s, const struct shard_piece *piece);
uint32_t *table_arena_words(const struct table_arena *s, const struct shard_piece *piece);

#endif
