/* SPDX-License-Identifier: MIT */
/* The unwinder's state of each process: its address space. */
#pragma once

#include "bpf/live_record.h"
#include "lib/live/process/live_process.h"
#include "lib/live/process/module_registry.h"
#include "lib/stream/process/mapping.h"
#include "lib/code/unwind/native/jit_tables.h"
#include "lib/code/unwind/native/module_tables.h"
#include "lib/code/unwind/native/table_pool.h"

/* Progress of a process's runtime, which must start first. */
enum runtime_start {
	RUNTIME_UNASKED,
	RUNTIME_STARTING, /* not yet */
	RUNTIME_STARTED,
	RUNTIME_REFUSED, /* it cannot be followed */
};

struct runtime_state {
	struct mapped_runtime mapped; /* with its own layout, once it has started */
	enum runtime_start start;
	uint64_t check_ns, wait_ns; /* when to check whether it has started */
};

struct runtime_states {
	VEC(struct runtime_state) rows;
};

struct space {
	struct mapping_table *mappings; /* held; NULL: none */
	struct jit_code *code; /* held; NULL: none described */
	uint64_t oldest_copy; /* time of the oldest copy that may still wait; 0: none */
	struct shard_piece piece; /* the walker's description; words 0: none */
	uint32_t execs; /* execs seen so far */
	uint32_t pending_exec; /* copies that may still wait for code */
	uint32_t pending_waits; /* the same for copies by tracepoints; 0 if these are the others */
	uint32_t dirty_at; /* position in the dirty list, from 1 on; 0: not dirty */
	struct runtime_states runtimes; /* mapped when the space was described last */
	bool is_pending; /* a mapping waits for its table */
	bool is_partial; /* its jitdump lacks call frame information for some code */
};

struct spaces {
	const struct live_processes *processes; /* borrowed */
	struct process_state state;
	VEC(struct live_process *) dirty;
};

/* The listener's state is a struct space; `ctx` is the listener's. */
void spaces_init(struct spaces *s, struct live_processes *processes,
		 const struct process_listener *listener, void *ctx);

static inline struct space *spaces_of(const struct spaces *s, struct live_process *process)
{
	return live_process_state(process, s->state);
}

/* Drops the mappings and removes the process from the dirty list. The caller releases the rest. */
void spaces_forget(struct spaces *s, struct live_process *process);
/* Adds the process to the dirty list, once. */
void spaces_mark_dirty(struct spaces *s, struct live_process *process);
/* Makes the process's next stacks wait for code descriptions, or no longer. */
void space_await_code(struct space *space, bool wanted);
/*
 * Replaces the mappings of a file that process `pid` no longer has by memory without a file: the
 * kernel does not report what is unmapped. Returns whether there were any; false also if the
 * process cannot be asked. *stamp: the last used for a mapping table.
 */
bool space_drop_unmapped(struct space *space, uint32_t pid, uint32_t module_id, uint64_t *stamp);
/* Returns whether the copy may wait for code descriptions, and counts it then. */
bool spaces_keep_copy(struct spaces *s, struct live_process *process, const struct rec_copy *copy);
/* Returns the UNWIND_PENDING… flag of code without a description. */
uint32_t space_pending_flags(const struct space *space);
/* Marks the spaces that wait for a file's table dirty. */
void spaces_mark_pending(struct spaces *s);
/* Marks the spaces with a file that contains a runtime dirty. */
void spaces_mark_runtimes(struct spaces *s, const struct module_tables *tables);
/* Marks the spaces that map the file dirty. */
void spaces_mark_module(struct spaces *s, uint32_t module_id);
/* Retries the inherited files that could not be opened before. */
void spaces_inherit_files(const struct spaces *s, struct module_registry *files,
			  struct live_process *process, uint64_t time);
/* Returns whether no space is dirty or waiting for a table. */
bool spaces_are_settled(const struct spaces *s);
/* Marks the tables of all mapped files as used at `now`. */
void spaces_use_tables(const struct spaces *s, struct module_tables *tables, uint64_t now);
/* Takes the next process from the dirty list; NULL: none left. */
struct live_process *spaces_next_dirty(struct spaces *s);
