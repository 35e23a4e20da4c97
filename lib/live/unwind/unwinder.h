/* SPDX-License-Identifier: MIT */
/*
 * Keeps the walker in the kernel informed: which process has what mapped, and the unwind table of
 * each mapped file. Told of every event in order of time, of forks, execs and exits as a listener;
 * what changed goes to the kernel at the end of a round.
 */
#ifndef PROF_LIB_LIVE_UNWIND_UNWINDER_H
#define PROF_LIB_LIVE_UNWIND_UNWINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/live_record.h"
#include "bpf/unwind.h"
#include "lib/base/error.h"
#include "lib/base/file_set.h"
#include "lib/live/unwind/code_piece.h"
#include "lib/live/process/live_process.h"
#include "lib/live/process/module_registry.h"

struct unwinder;

/* Where the walker reads what it knows; borrowed. */
struct walker_memory {
	struct unwind_rule *rules; /* UNWIND_RULES_MAX */
	int shards_fd; /* the walker's array of shards; -1: it walks in this process */
	int first_shard_fd; /* what is in there already; -1: nothing; the unwinder takes it over */
	/* What it knows of a process; NULL: nothing any more. */
	void (*set_space)(void *ctx, uint32_t pid, const struct unwind_space *space);
	void *ctx;
};

struct unwinder_options {
	struct walker_memory walker;
	struct live_processes *processes; /* borrowed, and freed before the unwinder */
	const struct file_set *files; /* borrowed */
	uint32_t methods; /* UNWIND_BY_… */
	uint64_t max_bytes; /* ceiling for the tables in the kernel */
	record_sink_fn *sink; /* for stacks that are finished here */
	void *ctx;
};

int unwinder_new(struct unwinder **out, const struct unwinder_options *options, struct error *err);
/* NULL is fine. */
void unwinder_free(struct unwinder *u);
/* Readable when a table has been compiled: time for unwinder_flush(). */
int unwinder_fd(const struct unwinder *u);

/* A file that will be mapped; its descriptor is borrowed, -1 where there is none. */
void unwinder_module(struct unwinder *u, const struct rec_module *rec, int fd);
void unwinder_map(struct unwinder *u, struct live_process *process, const struct rec_map *rec);
/* Code that the process has made itself, or moved, with or without a table; NULL: some is to come.
 */
void unwinder_code(struct unwinder *u, struct live_process *process,
		   const struct code_piece *piece);
/*
 * A stack that the kernel could not finish, to be finished once the tables are there; of NULL,
 * nothing is known.
 */
void unwinder_copy(struct unwinder *u, struct live_process *process, const struct rec_copy *copy,
		   uint64_t now);
/*
 * End of a round: finished tables and changed address spaces become visible to the walker, copied
 * stacks are sent. With `all` it waits for the tables that are being compiled.
 */
void unwinder_flush(struct unwinder *u, uint64_t now, bool all);

/*
 * Makes room for further files among those that are being compiled. What unwinder_flush() does
 * besides, where many files come without one.
 */
void unwinder_take_tables(struct unwinder *u);
/* Until all tables are compiled, or for so long; after it, unwinder_flush() has something to do. */
void unwinder_wait(struct unwinder *u, uint64_t max_ns);
/* Nothing is waiting for a table or a flush. */
bool unwinder_is_settled(const struct unwinder *u);

struct unwinder_stats {
	uint64_t table_bytes; /* in the kernel */
	uint64_t tables, rows;
	uint64_t refused; /* tables or address spaces that the ceiling left no room for */
	uint64_t code_pieces; /* of code made at run time that came with call frame information */
	uint64_t malformed_pieces; /* whose call frame information could not be read, or in part */
};
void unwinder_get_stats(const struct unwinder *u, struct unwinder_stats *stats);

#endif
