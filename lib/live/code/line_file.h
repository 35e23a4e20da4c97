/* SPDX-License-Identifier: MIT */
/* Files of processes that grow while they are read, opened as in the process's root. */
#pragma once

#include "lib/base/base.h"

/* Reads a text file line by line while its program appends to it. */

#define LINE_FILE_TAIL 64

struct line_file {
	uint64_t offset; /* everything before this offset has been read */
	char tail[LINE_FILE_TAIL]; /* the last bytes read, … */
	size_t tail_size; /* … to recognize the file */
	bool is_inside_line; /* skipping a line that is too long */
	uint64_t bytes; /* total number of bytes read */
};

/* Receives a line without its newline; NULL: the line is too long. */
typedef void line_file_fn(void *ctx, const char *line, size_t size);

/*
 * Reads the lines appended since the last call, at most about `budget` bytes. Returns true if there
 * is more. A file that was started over is read from its beginning. With is_last, the last line
 * needs no newline. A zeroed struct has read nothing.
 */
bool line_file_read(struct line_file *f, int fd, uint64_t budget, bool is_last, line_file_fn *fn,
		    void *ctx);

/*
 * A process seen from inside, for files named after its pid: its root folder, its pid in its
 * namespace, its user. Files opened in its root are regular, and owned by its user or, if
 * world-readable, by root; links cannot lead out. A file that was last changed before the process
 * began belongs to an earlier one with this pid.
 */

struct jit_process {
	uint32_t pid;
	uint32_t own_pid; /* pid in the process's own pid namespace */
	uid_t uid; /* effective uid */
	int64_t start_s; /* its start, seconds since 1970; 0: unknown */
};

/* Returns -ESRCH if the process is gone. */
int jit_process_read(struct jit_process *p, uint32_t pid);
/*
 * Opens the process's root folder, which may be kept after the process has ended. Returns a
 * descriptor or a negative errno.
 */
int jit_process_open_root(const struct jit_process *p);
/* Opens a file for reading by its path in the root. Returns a descriptor or a negative errno. */
int jit_process_open_file(const struct jit_process *p, int root, const char *path);
