/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables of code that processes have made themselves, by the call frame information that
 * comes with it in their jitdumps. A process's tables cover regions of JIT_REGION_SIZE: a piece of
 * code that comes changes those that it lies in, and no others are written again. Forked processes
 * share regions until either changes them.
 */
#ifndef PROF_LIB_LIVE_UNWIND_JIT_TABLES_H
#define PROF_LIB_LIVE_UNWIND_JIT_TABLES_H

#include <stdint.h>

#include "bpf/unwind.h"
#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/live/unwind/code_piece.h"
#include "lib/live/unwind/module_tables.h"
#include "lib/live/unwind/deferred_free.h"
#include "lib/live/unwind/table_arena.h"
#include "lib/live/unwind/table_pool.h"

#define JIT_REGION_SIZE ((uint64_t)1 << 16)
/* What is larger has no rows: the time that a piece takes is bounded. */
#define JIT_PIECE_SIZE_MAX ((uint64_t)4 << 20)
/* Of one region; true code has a row in 10 bytes or more. */
#define JIT_REGION_ROWS_MAX 16384

struct jit_region;

/* What is known of a process. */
struct jit_code {
	uint32_t pid;
	VEC(struct jit_region *) regions; /* ascending */
};

struct jit_tables {
	struct table_arena *arena;
	struct deferred_free *garbage;
	struct table_pool *pool;
	struct rule_numbers rules;
	VEC(struct jit_code) rows;
	struct index by_pid;
	VEC(struct unwind_mapping) scratch;
	uint64_t max_bytes, bytes; /* of regions in this process, beside those in the shards */
	uint64_t pieces; /* with rows */
	uint64_t malformed; /* pieces whose call frame information could not be read, or in part */
	uint64_t refused; /* pieces, or regions, that there was no room for */
};

/* All pointers are borrowed; what is replaced becomes garbage. */
void jit_tables_init(struct jit_tables *t, struct table_arena *arena, struct deferred_free *garbage,
		     struct table_pool *pool);
void jit_tables_release(struct jit_tables *t);

/* Code has come, or moved, in place of what was there. False: no rows have changed. */
bool jit_tables_add(struct jit_tables *t, uint32_t pid, const struct code_piece *piece);
/* A child has what its parent has. */
void jit_tables_fork(struct jit_tables *t, uint32_t pid, uint32_t parent_pid);
/* The process has another program, or is gone. */
void jit_tables_drop(struct jit_tables *t, uint32_t pid);
/* What is known of the process, until any of the above; NULL: nothing. */
struct jit_code *jit_tables_code(const struct jit_tables *t, uint32_t pid);
/* Writes regions that have changed into the shards. */
void jit_tables_store(struct jit_tables *t, uint32_t pid, uint64_t now);
/*
 * Puts the stored regions into that description of the process where it knows of no table, and the
 * flags there as well, in regions or not.
 */
void jit_tables_describe(struct jit_tables *t, uint32_t pid, uint32_t flags,
			 struct unwind_mappings *mappings);
/* The number of the rule for that address. */
uint16_t jit_tables_find(const struct jit_tables *t, uint32_t pid, uint64_t addr);

#endif
