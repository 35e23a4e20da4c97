/* SPDX-License-Identifier: MIT */
/*
 * Jitdumps: binary files to which a process appends a record for each piece of code it makes or
 * moves, with times, with the lines of its source and with its call frame information. The format
 * is that of tools/perf/Documentation/jitdump-specification.txt of the kernel.
 */
#ifndef PROF_LIB_LIVE_CODE_JITDUMP_H
#define PROF_LIB_LIVE_CODE_JITDUMP_H

#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/live/machine/arch_clock.h"
#include "lib/live/unwind/code_piece.h"

/* Where in the file a piece of code is described. */
struct jitdump_code {
	uint64_t code_index;
	uint64_t load; /* its record … */
	uint32_t load_size; /* … in bytes */
	uint64_t debug; /* the record with its lines, 0: none */
	uint64_t unwinding; /* the one with its call frame information, 0: none */
};

struct jitdump {
	uint64_t offset; /* up to where it was read */
	uint64_t debug, debug_addr; /* the last record with lines: it comes before its code */
	uint64_t unwinding; /* the last record of that kind: the next code is the one it is for */
	bool has_arch_times; /* in ticks of the CPU's clock */
	uint32_t line_shift; /* what addresses in lines have to be reduced by */
	bool is_broken; /* no jitdump, or damaged: nothing more is read */
	/* Up to the first move that is later than this; 0: all. What follows is read next time. */
	uint64_t moves_until;
	VEC(struct jitdump_code) codes;
	struct index by_code_index;
	struct code_stats stats;
};

/* A zeroed struct has read nothing. */
void jitdump_release(struct jitdump *d);
/*
 * Reads what was appended since the last time, about `budget` bytes at most; true: there is more.
 * `clock` is for dumps with times of the CPU's clock.
 */
bool jitdump_read(struct jitdump *d, int fd, uint64_t budget, const struct arch_clock *clock,
		  code_piece_fn *fn, void *ctx);

#endif
