/* SPDX-License-Identifier: MIT */
/*
 * Keeps the kernel's walker informed of the mappings of processes and of the unwind table of each
 * mapped file. Receives all events in order of time, and forks, execs and exits as a listener.
 * Publishes changes to the kernel at the end of a round.
 */
#pragma once

#include "bpf/live_record.h"
#include "bpf/unwind.h"
#include "lib/code/files/file_set.h"
#include "lib/live/process/live_process.h"
#include "lib/live/process/module_registry.h"
#include "lib/stream/process/mapping.h"
#include "lib/live/unwind/runtime_files.h"

struct mapping_table;
struct unwinder;

/* The memory the walker reads; borrowed. */
struct walker_memory {
	struct unwind_rule *rules; /* UNWIND_RULES_MAX */
	int shards_fd; /* the walker's array of shards; -1: the walker is in this process */
	int first_shard_fd; /* the first shard, already in the array, taken over; -1: none */
	/* Sets the walker's mappings of a process; NULL: none. */
	void (*set_space)(void *ctx, uint32_t pid, const struct unwind_space *space);
	void *ctx;
};

struct unwinder_options {
	struct walker_memory walker;
	struct live_processes *processes; /* borrowed, and freed before the unwinder */
	const struct file_set *files; /* borrowed */
	uint32_t methods; /* UNWIND_BY_… */
	uint64_t max_bytes; /* ceiling for the tables in the kernel */
	uint64_t max_file; /* largest file for which a table is compiled; 0: any */
	const char *cache; /* folder that keeps tables for later recordings; NULL: none */
	record_sink_fn *sink; /* receives the stacks finished here */
	void *ctx;
};

int unwinder_new(struct unwinder **out, const struct unwinder_options *options, struct error *err);
/* NULL is fine. */
void unwinder_free(struct unwinder *u);
/* Searches files for runtimes from now on. Copies the hooks; call before the first file. */
void unwinder_set_runtimes(struct unwinder *u, const struct runtime_hooks *hooks);
/*
 * Prepares for a file that will probably be mapped by loading the programs that follow a runtime in
 * it. Call after unwinder_set_runtimes(). `fd` is borrowed.
 */
void unwinder_expect(struct unwinder *u, int fd);
/* Readable when a table has been compiled: call unwinder_flush(). */
int unwinder_fd(const struct unwinder *u);

/* Adds a file that will be mapped; `fd` is borrowed, -1: none. */
void unwinder_module(struct unwinder *u, const struct rec_module *rec, int fd);
void unwinder_map(struct unwinder *u, struct live_process *process, const struct rec_map *rec);
/* Returns the executable mappings of a process so far; NULL: none. Valid until the next one. */
const struct mapping_table *unwinder_mappings(const struct unwinder *u,
					      struct live_process *process);
/*
 * Adds code that the process generated or moved, with or without a table; NULL: some will follow.
 */
void unwinder_code(struct unwinder *u, struct live_process *process,
		   const struct code_piece *piece);
/* Notes that the process has described all code that it made before that time. */
void unwinder_described(struct unwinder *u, struct live_process *process, uint64_t time);
/*
 * Adds a stack that the kernel could not finish. It is finished when the tables are ready. A NULL
 * process is unknown.
 */
void unwinder_copy(struct unwinder *u, struct live_process *process, const struct rec_copy *copy,
		   uint64_t now);
/* Publishes address spaces that have changed so far to the walker. Part of unwinder_flush(). */
void unwinder_publish(struct unwinder *u, uint64_t now);
/* Returns the time at which unwinder_flush() is next needed, in ns; UINT64_MAX: none known. */
uint64_t unwinder_due(const struct unwinder *u);
/*
 * Ends a round: publishes compiled tables and changed address spaces to the walker, and sends
 * finished stacks. With `all`, waits for the tables being compiled.
 */
void unwinder_flush(struct unwinder *u, uint64_t now, bool all);

/*
 * Takes compiled tables from the pool, which makes room for further files. Part of
 * unwinder_flush(); call it if many files arrive without a flush.
 */
void unwinder_take_tables(struct unwinder *u);
/* Waits until all tables are compiled or max_ns elapsed; call unwinder_flush() afterwards. */
void unwinder_wait(struct unwinder *u, uint64_t max_ns);
/* Makes the registry retry files that it could not open yet, with a process just forked. */
void unwinder_inherit_files(struct unwinder *u, struct module_registry *files,
			    struct live_process *child, uint64_t time);
/* Makes the registry drop files that nothing has mapped since then, with all data about them. */
void unwinder_forget_files(struct unwinder *u, struct module_registry *files, uint64_t since_ns,
			   uint64_t now);

/* Returns whether nothing is waiting for a table or a flush. */
bool unwinder_is_settled(const struct unwinder *u);

struct unwinder_stats {
	uint64_t table_bytes; /* in the kernel */
	uint64_t tables, rows;
	uint64_t compiled; /* files that were read, as no earlier recording has kept their tables */
	uint64_t refused; /* tables or address spaces rejected because of the ceiling */
	uint64_t code_pieces; /* pieces of generated code with call frame information */
	uint64_t malformed_pieces; /* pieces with (partly) unreadable call frame information */
	uint64_t early; /* stacks copied before their process's runtime was known */
};
void unwinder_get_stats(const struct unwinder *u, struct unwinder_stats *stats);
