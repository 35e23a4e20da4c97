/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables of code that processes generate, from the call frame information that they
 * publish and from the code.
 * A process's tables cover regions of JIT_REGION_SIZE: a new piece of code changes the regions it
 * lies in, and only these are rewritten. Forked processes share regions until one of them changes
 * them. The owner of processes keeps a struct jit_code for each.
 */
#pragma once

#include "bpf/unwind.h"
#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/native/module_tables.h"
#include "lib/code/unwind/native/rule_store.h"
#include "lib/code/unwind/native/table_pool.h"
#include "lib/stream/process/mapping.h"

#define JIT_REGION_SIZE ((uint64_t)1 << 16)
/*
 * Larger pieces get rows while they total less than JIT_LARGE_MAX bytes in a process, to limit the
 * time spent on them. An emulator describes all code that it will ever generate as one piece.
 */
#define JIT_PIECE_SIZE_MAX ((uint64_t)4 << 20)
#define JIT_LARGE_MAX ((uint64_t)2 << 30)
/* Maximum rows per region; real code has at most one in 10 bytes. */
#define JIT_REGION_ROWS_MAX 16384

struct jit_region;

/* The code that a process has described. NULL is an empty one. */
struct jit_code {
	uint32_t holders; /* holders; all see later additions */
	VEC(struct jit_region *) regions; /* ascending */
	bool is_erlang; /* pieces without any description do not change its rules */
	uint64_t large_bytes; /* bytes in pieces larger than JIT_PIECE_SIZE_MAX */
};

struct jit_tables {
	struct table_arena *arena;
	struct deferred_free *garbage;
	struct rule_store *store;
	const struct unwind_arch *arch;
	struct rule_numbers rules;
	VEC(struct unwind_mapping) scratch;
	uint64_t max_bytes, bytes; /* bytes of regions in this process, in addition to the shards */
	uint64_t pieces; /* pieces with rows */
	uint64_t malformed; /* pieces with (partly) unreadable call frame information */
	uint64_t refused; /* pieces or regions without room */
};

/* Borrows all pointers. Replaced tables go to `garbage`. */
void jit_tables_init(struct jit_tables *t, struct table_arena *arena, struct deferred_free *garbage,
		     struct rule_store *store, const struct unwind_arch *arch);
/* Call after the last holder of any code has dropped it. */
void jit_tables_release(struct jit_tables *t);

/* Returns empty code for a holder that waits for later additions; the caller drops it. */
struct jit_code *jit_code_new(void);
/*
 * Adds new or moved code, which replaces older code at its address. Creates *code if necessary.
 * Returns false if no rows changed.
 */
bool jit_tables_add(struct jit_tables *t, struct jit_code **code, const struct code_piece *piece);
/*
 * Copies the code for a child process; regions are shared until one of them changes. NULL yields
 * NULL.
 */
struct jit_code *jit_code_fork(const struct jit_code *parent);
/* Adds a holder, which may keep the code beyond the process's exec or exit. */
struct jit_code *jit_code_hold(struct jit_code *code);
/* Drops a hold; the last one frees the code. */
void jit_tables_drop(struct jit_tables *t, struct jit_code *code);
/* Writes changed regions into the shards. */
void jit_tables_store(struct jit_tables *t, const struct jit_code *code, uint64_t now);
/*
 * Adds the stored regions to a process's description, in mappings without a table. Sets `flags` on
 * all those mappings, inside and outside of regions.
 */
void jit_tables_describe(struct jit_tables *t, const struct jit_code *code, uint32_t flags,
			 struct unwind_mappings *mappings);
