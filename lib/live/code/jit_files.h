/* SPDX-License-Identifier: MIT */
/*
 * Perf maps and jitdumps of the recorded processes, as code records. A process is looked after from
 * its first anonymous executable memory on: its /tmp/perf-PID.map, by the name that it has for the
 * process itself, is opened as soon as it is there, and read as it grows; a jitdump is known by the
 * process's mapping of it. Both are read to their end when the process ends, executes something
 * else, or recording ends, even if they are unlinked by then.
 */
#ifndef PROF_LIB_LIVE_CODE_JIT_FILES_H
#define PROF_LIB_LIVE_CODE_JIT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/live/unwind/code_piece.h"
#include "lib/live/process/live_process.h"
#include "lib/live/process/module_registry.h"

/* How many descriptors it takes at most, but for moments. */
#define JIT_FILES_DESCRIPTORS 192

struct jit_files;

/* It listens to the processes, which are freed before it. */
struct jit_files *jit_files_new(struct live_processes *processes, record_sink_fn *sink, void *ctx);
/*
 * The pieces of jitdumps are given to `fn` besides: they come with call frame information. Before
 * the first of a process it is called with NULL, as soon as there is something in its dump.
 */
typedef void jit_files_piece_fn(void *ctx, struct live_process *process,
				const struct code_piece *piece);
void jit_files_on_piece(struct jit_files *j, jit_files_piece_fn *fn, void *ctx);
/* NULL is fine. */
void jit_files_free(struct jit_files *j);

/* Is this the path of a jitdump? */
bool jit_files_is_dump(const char *path);
/* The process has mapped anonymous executable memory. True: for the first time, as far as known. */
bool jit_files_memory(struct jit_files *j, struct live_process *process);
/* It has mapped a jitdump; the descriptor is borrowed, -1 where the file could not be opened. */
void jit_files_dump(struct jit_files *j, struct live_process *process, int fd);
/*
 * Now and then; reads what is due, and a limited amount of it. Stacks of later than `complete` are
 * not known yet: from the first move of code after it on, dumps are read next time. 0: all are.
 */
void jit_files_poll(struct jit_files *j, uint64_t now, uint64_t complete);
/* At the end: reads everything that is left. */
void jit_files_finish(struct jit_files *j, uint64_t now);

struct jit_files_stats {
	uint64_t maps, dumps; /* files that were read */
	uint64_t pieces; /* of code */
	uint64_t malformed; /* lines and records that made no sense */
	uint64_t cut; /* files that were too large to be read to their end */
};
void jit_files_get_stats(const struct jit_files *j, struct jit_files_stats *stats);

#endif
