/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables for native code that processes map or generate: one set per recording, for any
 * recorder and any walker. Touches no process. The owner of processes keeps a mapping_table and a
 * jit_code for each, and reports:
 *
 *	a new file			module_tables_add(); a table_pool compiles its table
 *	a compiled table		module_tables_store()
 *	generated code		jit_tables_add(), then jit_tables_store()
 *	the end of a round	native_tables_end_round()
 *
 * A walker then uses a process's description by native_tables_describe(): the kernel's walker, if
 * the shard source is memory that it reads, or stack_finisher.h, which walks a copied stack in this
 * process. Use from one thread; only compiling is done by a pool's threads.
 */
#pragma once

#include "bpf/unwind.h"
#include "lib/stream/process/mapping.h"
#include "lib/code/unwind/user_walk.h"
#include "lib/code/unwind/native/deferred_free.h"
#include "lib/code/unwind/native/jit_tables.h"
#include "lib/code/unwind/native/module_tables.h"
#include "lib/code/unwind/native/rule_store.h"
#include "lib/code/unwind/native/table_pool.h"

struct native_tables_options {
	const struct shard_source *shards; /* copied; NULL: memory of this process */
	struct unwind_rule *rules; /* as for rule_store_new() */
	uint64_t max_bytes; /* ceiling for the shards; likewise for tables of generated code */
	struct unwind_machine machine; /* machine that ran the processes */
};

struct native_tables {
	struct unwind_machine machine;
	struct table_arena arena;
	struct deferred_free garbage;
	struct rule_store *rules;
	struct module_tables modules;
	struct jit_tables jit;
};

void native_tables_init(struct native_tables *t, const struct native_tables_options *options);
void native_tables_release(struct native_tables *t);

/* An address space as described to walkers. */
struct native_space {
	struct unwind_mappings mappings;
	bool is_pending; /* some file's table is being compiled */
	bool is_32bit; /* belongs to a 32-bit program */
};

/*
 * Describes a process by its mappings and code, either of which may be NULL. Mappings without a
 * table also get `flags` (UNWIND_…). Replaces the contents of *space; valid until tables change.
 */
void native_tables_describe(struct native_tables *t, const struct mapping_table *mappings,
			    const struct jit_code *code, uint32_t flags,
			    struct native_space *space);
/*
 * Drops the tables of files last used more than unused_ns ago; they are compiled again when the
 * files are mapped again. The time of last use is last_used_ns of their module_table.
 */
void native_tables_evict(struct native_tables *t, uint64_t unused_ns, uint64_t now);
/* Returns true if the file was used since then, or its table is still to be compiled. */
bool native_tables_was_used(const struct native_tables *t, uint32_t module_id, uint64_t since_ns);
/* Drops the data of a file that will not be mapped again. */
void native_tables_forget(struct native_tables *t, uint32_t module_id, uint64_t now);

/*
 * Ends a round. Memory without a reference from a description is reused some rounds and ns later.
 */
void native_tables_end_round(struct native_tables *t, uint64_t now);
