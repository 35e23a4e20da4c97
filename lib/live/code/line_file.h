/* SPDX-License-Identifier: MIT */
/* Reads a text file line by line while its program appends to it. */
#pragma once

#include "lib/base/base.h"

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
