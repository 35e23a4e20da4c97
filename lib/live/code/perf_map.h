/* SPDX-License-Identifier: MIT */
/*
 * Reads perf maps: text files to which a process appends "START SIZE NAME\n" for each piece of
 * code, in hexadecimal. They have no times; later lines replace earlier code that they overlap.
 */
#ifndef PROF_LIB_LIVE_CODE_PERF_MAP_H
#define PROF_LIB_LIVE_CODE_PERF_MAP_H

#include "lib/live/unwind/code_piece.h"

#define PERF_MAP_TAIL 64

struct perf_map {
	uint64_t offset; /* read up to here */
	char tail[PERF_MAP_TAIL]; /* the last bytes read, … */
	size_t tail_size; /* … to recognize the file */
	bool is_inside_line; /* inside a line that is too long */
	struct code_stats stats;
};

/* Parses a line without its end. Sets start, size and name of *piece. False: malformed. */
bool perf_map_parse_line(const char *line, size_t size, struct code_piece *piece);
/*
 * Reads the data appended since the last call, at most about `budget` bytes. True: there is more.
 * Reads a file that was started anew from its beginning. With is_last the last line needs no end. A
 * zeroed struct has read nothing.
 */
bool perf_map_read(struct perf_map *m, int fd, uint64_t budget, bool is_last, code_piece_fn *fn,
		   void *ctx);

#endif
