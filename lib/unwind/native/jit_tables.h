/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables of code that processes have made themselves, by the call frame information that
 * comes with it in their jitdumps. A process's tables cover regions of JIT_REGION_SIZE: a piece of
 * code that comes changes those that it lies in, and no others are written again. Forked processes
 * share regions until either changes them. Who keeps processes keeps a struct jit_code for each.
 */
#ifndef PROF_LIB_UNWIND_NATIVE_JIT_TABLES_H
#define PROF_LIB_UNWIND_NATIVE_JIT_TABLES_H

#include <stdint.h>

#include "bpf/unwind.h"
#include "lib/base/vec.h"
#include "lib/unwind/native/module_tables.h"
#include "lib/unwind/native/deferred_free.h"
#include "lib/unwind/native/table_arena.h"
#include "lib/unwind/arch.h"
#include "lib/unwind/native/rule_store.h"

#define JIT_REGION_SIZE ((uint64_t)1 << 16)
/* What is larger has no rows: the time that a piece takes is bounded. */
#define JIT_PIECE_SIZE_MAX ((uint64_t)4 << 20)
/* Of one region; true code has a row in 10 bytes or more. */
#define JIT_REGION_ROWS_MAX 16384

struct jit_region;

/* A piece of code as its process tells of it. */
struct jit_piece {
	uint64_t start, size;
	uint64_t moved_from; /* where it was until now; 0: it is new */
	/* .eh_frame of the code as if it were behind it, at a multiple of 8; NULL: not told. */
	const uint8_t *eh_frame;
	size_t eh_frame_size;
};

/* What a process has told. NULL is one that has told nothing. */
struct jit_code {
	uint32_t holders; /* all see what is told later */
	VEC(struct jit_region *) regions; /* ascending */
};

struct jit_tables {
	struct table_arena *arena;
	struct deferred_free *garbage;
	struct rule_store *store;
	const struct unwind_arch *arch;
	struct rule_numbers rules;
	VEC(struct unwind_mapping) scratch;
	uint64_t max_bytes, bytes; /* of regions in this process, beside those in the shards */
	uint64_t pieces; /* with rows */
	uint64_t malformed; /* pieces whose call frame information could not be read, or in part */
	uint64_t refused; /* pieces, or regions, that there was no room for */
};

/* All pointers are borrowed; what is replaced becomes garbage. */
void jit_tables_init(struct jit_tables *t, struct table_arena *arena, struct deferred_free *garbage,
		     struct rule_store *store, const struct unwind_arch *arch);
/* After the last holder of any code has dropped it. */
void jit_tables_release(struct jit_tables *t);

/* Of one who waits for what is told later; the caller's to drop. */
struct jit_code *jit_code_new(void);
/*
 * Code has come, or moved, in place of what was there. *code is made when it is needed first.
 * False: no rows have changed.
 */
bool jit_tables_add(struct jit_tables *t, struct jit_code **code, const struct jit_piece *piece);
/* A child has what its parent has, until either tells more. Another one, or NULL for NULL. */
struct jit_code *jit_code_fork(const struct jit_code *parent);
/* For one who needs it longer than its process, which may have another program, or be gone. */
struct jit_code *jit_code_hold(struct jit_code *code);
/* The last holder's drop frees it. */
void jit_tables_drop(struct jit_tables *t, struct jit_code *code);
/* Writes regions that have changed into the shards. */
void jit_tables_store(struct jit_tables *t, const struct jit_code *code, uint64_t now);
/*
 * Puts the stored regions into that description of the process where it knows of no table, and the
 * flags there as well, in regions or not.
 */
void jit_tables_describe(struct jit_tables *t, const struct jit_code *code, uint32_t flags,
			 struct unwind_mappings *mappings);

#endif
