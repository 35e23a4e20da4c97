/* SPDX-License-Identifier: MIT */
/*
 * Reads the marker files of recorded processes, in which they tell their spans (span_line.h). A
 * file `marker-PID.txt` or `marker-PID-TID.txt`, wherever it is, is found when it is mapped
 * executable. A process with generated code, whose language may have no way to map a file, may
 * write /tmp/marker-PID.txt instead. PID and TID are those of the process's own pid namespace.
 * Files are read as they grow, and to their end when the process execs or exits or the recording
 * ends, even if they are unlinked by then.
 */
#ifndef PROF_LIB_LIVE_CODE_SPAN_FILES_H
#define PROF_LIB_LIVE_CODE_SPAN_FILES_H

#include "lib/live/code/jit_files.h"
#include "lib/live/code/span_file.h"
#include "lib/live/process/live_process.h"

/* Maximum open descriptors. */
#define SPAN_FILES_DESCRIPTORS 128

struct span_files;

/* Listens to the processes. Call it before jit_files_new(), and free the processes first. */
struct span_files *span_files_new(struct live_processes *processes);
/* NULL is fine. */
void span_files_free(struct span_files *s);
/* Spans go to `fn`. Without it no file is read. */
void span_files_on_span(struct span_files *s, span_fn *fn, void *ctx);
/* Processes with generated code open their files by their rows there; borrowed. */
void span_files_set_jit_files(struct span_files *s, struct jit_files *jit_files);

/* Is this the path of a marker file? The tid is 0 if it names none. */
bool span_files_is_file(const char *path, uint32_t *pid, uint32_t *tid);
/* The process has mapped a marker file named after pid and tid. `fd` is borrowed, -1: none. */
void span_files_map(struct span_files *s, struct live_process *process, uint32_t pid, uint32_t tid,
		    int fd);
/* The process has generated code. */
void span_files_memory(struct span_files *s, struct live_process *process);
/* Reads a limited amount of the files that have grown. Call now and then. */
void span_files_poll(struct span_files *s, uint64_t now);
/* Reads everything that is left; call at the end. */
void span_files_finish(struct span_files *s, uint64_t now);

struct span_files_stats {
	uint64_t files, spans;
	uint64_t malformed; /* lines */
	uint64_t cut; /* files too large to be read to their end, too many, or gone when opened */
};
void span_files_get_stats(const struct span_files *s, struct span_files_stats *stats);

#endif
