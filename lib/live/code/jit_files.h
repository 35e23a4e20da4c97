/* SPDX-License-Identifier: MIT */
/*
 * Sends the perf maps and jitdumps of recorded processes as code records, as well as the lists by
 * which they publish code to debuggers. A process is followed from its first anonymous executable
 * memory on. Its /tmp/perf-PID.map, with the pid in its own namespace, is opened as soon as it
 * exists and read as it grows. A jitdump is found by its mapping in the process. Both are read to
 * their end when the process exits or execs, or recording ends, even if they are unlinked by then.
 * Lists are in the process's memory, and read while it lives.
 */
#pragma once

#include "lib/live/code/jit_descriptors.h"
#include "lib/live/code/line_file.h"
#include "lib/live/process/live_process.h"
#include "lib/live/process/module_registry.h"
#include "lib/stream/process/mapping.h"

/*
 * Reads perf maps: text files to which a process appends "START SIZE NAME\n" for each piece of
 * code, in hexadecimal. They contain no times; later lines replace earlier code that they overlap.
 */

struct perf_map {
	struct line_file lines;
	struct code_stats stats;
};

/* Parses a line without its end. Sets start, size and name of *piece. False: malformed. */
bool perf_map_parse_line(const char *line, size_t size, struct code_piece *piece);
/* Reads the data appended since the last call, like line_file_read(). */
bool perf_map_read(struct perf_map *m, int fd, uint64_t budget, bool is_last, code_piece_fn *fn,
		   void *ctx);

/* Maximum open descriptors, apart from short-lived ones. */
#define JIT_FILES_DESCRIPTORS 192

/* Interval of polls while files are being written. */
#define JIT_FILES_SOON_MS 20

struct jit_files;

/* Listens to the processes; free them first. */
struct jit_files *jit_files_new(struct live_processes *processes, record_sink_fn *sink, void *ctx);
/*
 * Also passes the pieces of jitdumps and lists, which have call frame information, to `fn`. Before
 * the first piece of a dump, it is called with NULL as soon as the dump is not empty. Pieces of
 * lists have no names.
 */
typedef void jit_files_piece_fn(void *ctx, struct live_process *process,
				const struct code_piece *piece);
/* Called when all code that the process made before that time has been passed on. */
typedef void jit_files_described_fn(void *ctx, struct live_process *process, uint64_t time);
void jit_files_on_piece(struct jit_files *j, jit_files_piece_fn *fn,
			jit_files_described_fn *described, void *ctx);
/* Reads lists for debuggers, too; borrowed. */
void jit_files_follow_lists(struct jit_files *j, struct jit_descriptors *descriptors);
/* Accepts NULL. */
void jit_files_free(struct jit_files *j);

/* Notes that the process has mapped anonymous executable memory. Returns true the first time. */
bool jit_files_memory(struct jit_files *j, struct live_process *process);
/* True for the path of a jitdump. */
bool jit_files_is_dump(const char *path);
/*
 * Notes that the process has mapped a jitdump; `fd` is borrowed, -1: the file could not be opened.
 */
void jit_files_dump(struct jit_files *j, struct live_process *process, int fd);
/*
 * Opens another file of a process with generated code, by its path in the process's root: a format
 * string for the pid in the process's own namespace, which is stored in *own_pid. Returns a
 * descriptor or a negative errno.
 */
int jit_files_open(const struct jit_files *j, struct live_process *process, const char *format,
		   uint32_t *own_pid);
/*
 * Call periodically. Reads a limited amount of the files that are due. Stacks taken after
 * `complete` have not arrived yet, so dumps are read only up to the first later move of code. 0:
 * all have arrived.
 */
void jit_files_poll(struct jit_files *j, uint64_t now, uint64_t complete);
/* Readable when a perf map has been written, after a while without writes; -1: unavailable. */
int jit_files_fd(const struct jit_files *j);
/* Returns whether there is something to read within JIT_FILES_SOON_MS. */
bool jit_files_is_due_soon(const struct jit_files *j);
/* Reads everything that is left; call at the end. */
void jit_files_finish(struct jit_files *j, uint64_t now);

struct jit_files_stats {
	uint64_t maps, dumps; /* numbers of files read */
	uint64_t lists; /* number of lists with functions */
	uint64_t pieces; /* number of pieces of code */
	uint64_t malformed; /* number of invalid lines and records */
	uint64_t cut; /* number of files and lists too large to be read to their end */
};
void jit_files_get_stats(const struct jit_files *j, struct jit_files_stats *stats);
/* Returns to the users' budgets the amounts of records sent before that time. */
void jit_files_forget(struct jit_files *j, uint64_t before);
/* Appends the users whose code was too much, as "user 4001"; nothing if there are none. */
void jit_files_list_refused(const struct jit_files *j, struct strbuf *out);
