/* SPDX-License-Identifier: MIT */
/*
 * Reads perf maps: text files to which a process appends "START SIZE NAME\n" for each piece of
 * code, in hexadecimal. They have no times; later lines replace earlier code that they overlap.
 */
#ifndef PROF_LIB_LIVE_CODE_PERF_MAP_H
#define PROF_LIB_LIVE_CODE_PERF_MAP_H

#include "lib/live/code/line_file.h"
#include "lib/live/unwind/code_piece.h"

struct perf_map {
	struct line_file lines;
	struct code_stats stats;
};

/* Parses a line without its end. Sets start, size and name of *piece. False: malformed. */
bool perf_map_parse_line(const char *line, size_t size, struct code_piece *piece);
/* Reads the data appended since the last call, as line_file_read(). */
bool perf_map_read(struct perf_map *m, int fd, uint64_t budget, bool is_last, code_piece_fn *fn,
		   void *ctx);

#endif
