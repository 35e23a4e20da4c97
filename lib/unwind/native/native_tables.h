/* SPDX-License-Identifier: MIT */
/*
 * How native code is unwound that processes have mapped or made: one set of tables for a recording,
 * whoever records and whoever walks. It touches no process. Who knows processes keeps, for each, a
 * mapping_table and a jit_code, and has a set told:
 *
 *	a file is met		module_tables_add(), its table compiled by a table_pool
 *	a table is compiled	module_tables_store()
 *	code is made at run time	jit_tables_add(), then jit_tables_store()
 *	a round ends		native_tables_end_round()
 *
 * A walker then goes by what native_tables_describe() says of a process: the one in the kernel, as
 * long as a source puts the shards where it reads them, or stack_finisher.h, which walks a copy of
 * a stack in this process. Everything is for one thread, but that a pool's threads compile.
 */
#ifndef PROF_LIB_UNWIND_NATIVE_NATIVE_TABLES_H
#define PROF_LIB_UNWIND_NATIVE_NATIVE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/unwind.h"
#include "lib/process/mapping.h"
#include "lib/unwind/machine.h"
#include "lib/unwind/native/deferred_free.h"
#include "lib/unwind/native/jit_tables.h"
#include "lib/unwind/native/module_tables.h"
#include "lib/unwind/native/rule_store.h"
#include "lib/unwind/native/table_arena.h"

struct native_tables_options {
	const struct shard_source *shards; /* copied; NULL: memory of this process */
	struct unwind_rule *rules; /* as of rule_store_new() */
	uint64_t max_bytes; /* ceiling for the shards, and again for what is kept of made code */
	struct unwind_machine machine; /* that ran the processes */
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

/* An address space as walkers are told of it. */
struct native_space {
	struct unwind_mappings mappings;
	bool is_pending; /* some file's table is being compiled */
	bool is_32bit; /* of a 32-bit program */
};

/*
 * What is known now of a process with these mappings and that code; either may be NULL. Where there
 * is no table, mappings get the flags (UNWIND_…) as well. Replaces what is in *space, and is good
 * until tables change.
 */
void native_tables_describe(struct native_tables *t, const struct mapping_table *mappings,
			    const struct jit_code *code, uint32_t flags,
			    struct native_space *space);
/* Memory that no walker is led to any more is used again, some rounds and ns later. */
void native_tables_end_round(struct native_tables *t, uint64_t now);

#endif
