/* SPDX-License-Identifier: MIT */
/*
 * Keeps the walker in the kernel informed: which process has what mapped, and the unwind table of
 * each mapped file. Told of every event in order of time; what changed goes to the kernel at the
 * end of a round.
 */
#ifndef PROF_LIB_LIVE_UNWINDER_H
#define PROF_LIB_LIVE_UNWINDER_H

#include <stdint.h>

#include "bpf/record.h"
#include "lib/base/error.h"
#include "lib/live/programs.h"

struct unwinder;

int unwinder_new(struct unwinder **out, struct programs *programs, uint64_t max_bytes,
		 struct error *err);
/* NULL is fine. */
void unwinder_free(struct unwinder *u);
/* Readable when a table has been compiled: time for unwinder_flush(). */
int unwinder_fd(const struct unwinder *u);

/* A file that will be mapped; its descriptor is borrowed, -1 where there is none. */
void unwinder_module(struct unwinder *u, const struct rec_module *rec, int fd);
void unwinder_map(struct unwinder *u, const struct rec_map *rec);
void unwinder_fork(struct unwinder *u, uint32_t pid, uint32_t parent_pid);
/* An exec replaces the address space. */
void unwinder_exec(struct unwinder *u, uint32_t pid);
/* The process is gone, and nothing more will come about it. */
void unwinder_exit(struct unwinder *u, uint32_t pid);
/* End of a round: finished tables and changed address spaces become visible to the walker. */
void unwinder_flush(struct unwinder *u, uint64_t now);

struct unwinder_stats {
	uint64_t table_bytes; /* in the kernel */
	uint64_t tables, rows;
	uint64_t refused; /* tables or address spaces that the ceiling left no room for */
};
void unwinder_get_stats(const struct unwinder *u, struct unwinder_stats *stats);

#endif
