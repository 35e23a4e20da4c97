/* SPDX-License-Identifier: MIT */
/* A piece of generated code, as found by the readers of perf maps, jitdumps and lists. */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"

struct code_piece {
	uint64_t since; /* CLOCK_MONOTONIC ns; meaningless unless is_exact */
	bool is_exact;
	uint64_t start, size;
	const char *name; /* not terminated */
	size_t name_size;
	const struct rec_code_line *lines; /* by offset; `file` is an offset in `files` */
	size_t line_count;
	const char *files; /* names, each terminated */
	size_t files_size;
	uint64_t moved_from; /* its address until now; 0: new code */
	const struct rec_code_dump *dump; /* location of its bytes; NULL: none */
	const uint8_t *eh_frame; /* .eh_frame or .debug_frame of the code; NULL: none */
	size_t eh_frame_size;
	/* Address for which it is relocated; 0: the next multiple of 8 after the code. */
	uint64_t eh_frame_addr;
	bool is_debug_frame;
	const uint8_t
		*code; /* the code itself, whose frames may be found without CFI; NULL: unread */
	bool is_erlang; /* the code uses an Erlang process's stack */
	uint64_t outermost, outermost_size; /* code in it in which stacks end; size 0: none */
};

/* Everything that *piece points to is valid during the call only. */
typedef void code_piece_fn(void *ctx, const struct code_piece *piece);

/* Longer names are truncated. */
#define CODE_NAME_MAX 4096

/* Totals of a reader. */
struct code_stats {
	uint64_t pieces;
	uint64_t malformed; /* lines, or records */
	uint64_t bytes; /* read, for budgets */
};
