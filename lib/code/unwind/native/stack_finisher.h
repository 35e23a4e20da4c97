/* SPDX-License-Identifier: MIT */
/* Unwind tables of a recording, and stacks that are finished with them in user space. */
#pragma once

#include "bpf/live_record.h"
#include "bpf/unwind.h"
#include "lib/code/unwind/native/jit_tables.h"
#include "lib/code/unwind/native/module_tables.h"
#include "lib/code/unwind/native/rule_store.h"
#include "lib/code/unwind/native/table_pool.h"
#include "lib/code/unwind/user_walk.h"
#include "lib/stream/process/mapping.h"

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

/*
 * Makes a stack record from copied registers and stack (struct rec_copy): for walks that the
 * kernel's walker could not do, or recordings without a kernel. Works with any source of copies
 * that provides
 *
 *	- the copy: general registers by DWARF number (a 32-bit program's as x86-64 has them), the
 *	  stack from below_sp bytes below sp on, and frames of the kernel, if any, in front;
 *	- the mappings of its process at that time, with the tables' module ids;
 *	- the tables compiled so far.
 *
 * Frames end at the end of the stack, at the end of the copy (STACK_TRUNCATED), or at unknown code
 * (STACK_UNKNOWN). The kernel_depth, stack_size, other_size and managed_count of a copy must lie
 * within its record; the rest of it is untrusted. Keeps the innermost KERNEL_DEPTH_MAX kernel
 * frames.
 */

/* Merges a runtime's frames into a stack walked in user space. */

struct managed_merge {
	/* The user frames after the leaf, innermost first, and the sp of each. */
	const uint64_t *addrs, *sps;
	const uint8_t *kinds;
	uint32_t depth;
	uint64_t top_sp; /* of the leaf; UINT64_MAX: it is in the kernel */
	/* The outermost frame is the root; otherwise, runtime frames may stand alone. */
	bool is_whole;
	bool keeps_interpreter; /* keep native frames next to those that they execute */
	const struct managed_frame *managed;
	uint32_t managed_count;
};

struct managed_merge_result {
	uint32_t depth; /* frames stored */
	uint32_t left; /* runtime frames without a native frame */
	bool leaf_replaced; /* as STACK_LEAF_REPLACED */
	bool is_truncated; /* there was no room for some frames */
};

/* Stores the merged frames, at most `capacity`. */
struct managed_merge_result managed_merge(const struct managed_merge *in, uint64_t *addrs,
					  uint8_t *kinds, uint32_t capacity);

struct stack_finisher_options {
	struct native_tables *tables; /* borrowed */
	uint32_t methods; /* UNWIND_BY_CFI, UNWIND_BY_FRAME_POINTER, UNWIND_BY_SCAN */
	/*
	 * Reads code of a module, to distinguish calls from data in a scan for return addresses.
	 * Returns false if it is unreadable. NULL: no scans.
	 */
	bool (*read_file)(void *ctx, uint32_t module, uint64_t offset, void *to, size_t size);
	void *ctx;
};

struct stack_finisher;

struct stack_finisher *stack_finisher_new(const struct stack_finisher_options *options);
/* NULL is fine. */
void stack_finisher_free(struct stack_finisher *f);
/*
 * Makes the stack record (STACK_LATER) of a copy, with the copy's id, pids and CPU and the time
 * `now`; the caller frees it. `mappings` and `code` may be NULL.
 */
struct rec_stack *stack_finisher_finish(struct stack_finisher *f, const struct rec_copy *copy,
					const struct mapping_table *mappings,
					const struct jit_code *code, uint64_t now);
/*
 * Must be called when tables or generated code have changed since the last copy. Otherwise,
 * consecutive copies of a process share one description.
 */
void stack_finisher_forget(struct stack_finisher *f);
