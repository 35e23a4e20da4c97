/* SPDX-License-Identifier: MIT */
/*
 * Perf maps: text files to which a process appends "START SIZE NAME\n" for each piece of code, in
 * hexadecimal. There are no times in them; what is later in the file replaces what it overlaps.
 */
#ifndef PROF_LIB_LIVE_CODE_PERF_MAP_H
#define PROF_LIB_LIVE_CODE_PERF_MAP_H

#include "lib/live/unwind/code_piece.h"

#define PERF_MAP_TAIL 64

struct perf_map {
	uint64_t offset; /* up to where it was read */
	char tail[PERF_MAP_TAIL]; /* the last bytes before that, … */
	size_t tail_size; /* … to know the file again */
	bool is_inside_line; /* of one that is too long */
	struct code_stats stats;
};

/* The line without its end; false: malformed. Sets start, size and name of *piece. */
bool perf_map_parse_line(const char *line, size_t size, struct code_piece *piece);
/*
 * Reads what was appended since the last time, about `budget` bytes at most; true: there is more. A
 * file that was begun anew is read from its beginning. With is_last the last line needs no end. A
 * zeroed struct has read nothing.
 */
bool perf_map_read(struct perf_map *m, int fd, uint64_t budget, bool is_last, code_piece_fn *fn,
		   void *ctx);

#endif
