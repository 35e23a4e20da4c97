/* SPDX-License-Identifier: MIT */
/*
 * Threads that compile unwind tables on all CPUs, so that files do not delay the draining of the
 * rings, nor large files the others.
 */
#pragma once

#include "bpf/runtime_layout.h"
#include "lib/code/unwind/native/rule_store.h"
#include "lib/code/unwind/unwind_table.h"

/*
 * Memory that a walker reads: shards of UNWIND_SHARD_BYTES, filled with plain stores. Shards are
 * created on demand, up to a ceiling, in this process's memory or a source's, such as maps that the
 * kernel's walker reads.
 */

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
/* Returns false if the ceiling is reached or the piece is larger than a shard. */
bool table_arena_alloc(struct table_arena *s, uint32_t words, struct shard_piece *piece);
/* Frees a piece that is no longer read. */
void table_arena_free(struct table_arena *s, const struct shard_piece *piece);
uint32_t *table_arena_words(const struct table_arena *s, const struct shard_piece *piece);

struct table_pool;

/* A compiled table; empty if there was nothing to compile. */
struct table_result {
	uint32_t module_id;
	struct unwind_table table;
	struct runtime_layout *layout; /* of the file's runtime, from malloc; NULL: none */
	char *refusal; /* why its runtime cannot be followed, from malloc; NULL: no such problem */
	bool was_kept; /* read from the cache */
};

void table_result_release(struct table_result *result);

/* Returns false for layouts that no probe can have found. */
typedef bool table_sane_fn(const struct runtime_layout *layout);

/* A search for runtimes. Its functions are called from several threads. */
struct table_probe {
	/* Looks for a runtime in a file, like struct runtime's probe() in lib/code/runtimes. */
	int (*find)(int fd, struct runtime_layout *layout, struct error *err);
	table_sane_fn *is_sane;
	uint32_t number; /* identifies the search, as results depend on it; not 0 */
};

struct table_cache;

/*
 * Borrows the store, which holds a table's rules before the table is done. event_fd, a borrowed
 * eventfd(2), becomes readable when there are results, until one is taken; -1: no notification.
 * Starts threads on demand. Returns NULL with errno set if not even one thread can be started.
 */
struct table_pool *table_pool_new(struct rule_store *rules, int event_fd);
/*
 * Probes every file as well from now on. Call before the first one is submitted. The probe is
 * borrowed.
 */
void table_pool_probe(struct table_pool *p, const struct table_probe *probe);
/* Keeps results from now on, and uses those kept. The cache is borrowed; NULL: none. */
void table_pool_keep(struct table_pool *p, struct table_cache *cache);
/* Compiles no tables of larger files from now on, bytes; 0: no such limit. */
void table_pool_limit(struct table_pool *p, uint64_t max_file);
/*
 * Probes a file at once, for a runtime that can be followed. If it contains one, its table is
 * compiled and kept as well, if the pool keeps results: functions are only placed on stacks that
 * the kernel can walk.
 */
bool table_pool_find_runtime(struct table_pool *p, int fd, struct runtime_layout *layout);
/*
 * Waits a limited time for the files being compiled. Returns false if a thread was left behind,
 * which still uses everything that the pool borrows. Accepts NULL.
 */
bool table_pool_free(struct table_pool *p);
/* Limit for waiting files plus results, to save descriptors and memory. */
#define TABLE_POOL_MAX 256

/* Returns the number of files that may be submitted now. */
size_t table_pool_room(struct table_pool *p);
/*
 * Takes over the descriptor. Returns false if too many files wait already; the caller then keeps
 * the descriptor.
 */
bool table_pool_submit(struct table_pool *p, uint32_t module_id, int fd);
/*
 * Waits until at most `count` jobs are pending or max_ns have elapsed. Returns true if at most
 * `count` are pending.
 */
bool table_pool_wait(struct table_pool *p, size_t count, uint64_t max_ns);
/* Takes the next result, to be released by the caller. Returns false if there is none now. */
bool table_pool_next(struct table_pool *p, struct table_result *result);
/* Returns true if all submitted files have been taken as results. */
bool table_pool_is_empty(struct table_pool *p);
