/* SPDX-License-Identifier: MIT */
/*
 * Reads jitdumps: binary files to which a process appends a record for each piece of code that it
 * makes or moves, with times, source lines and call frame information. See
 * tools/perf/Documentation/jitdump-specification.txt in the kernel.
 */
#pragma once

#include "lib/code/binary/code_dump.h"
#include "lib/stream/process/mapping.h"

/* Relates the CPU's own clock (TSC, virtual counter) to CLOCK_MONOTONIC. */

/* The same moment on both clocks. */
struct arch_clock {
	uint64_t ticks, ns;
};

void arch_clock_read(struct arch_clock *clock);
/* Converts a tick to CLOCK_MONOTONIC ns, given two moments some time apart; 0 if unknown. */
uint64_t arch_clock_to_ns(const struct arch_clock *first, const struct arch_clock *second,
			  uint64_t ticks);

/* Offsets in the file that describe a piece of code. */
struct jitdump_code {
	uint64_t code_index;
	uint64_t load; /* offset of the load record … */
	uint32_t load_size; /* … and its size in bytes */
	uint64_t debug; /* offset of the record with lines; 0: none */
	uint64_t unwinding; /* offset of the record with call frame information; 0: none */
};

struct jitdump {
	uint64_t offset; /* everything before this offset has been read */
	uint64_t debug, debug_addr; /* offset and address of the last record with lines, which
				       precedes its code */
	uint64_t unwinding; /* offset of the last record with call frame information, which belongs
			       to the next code */
	bool has_arch_times; /* times are ticks of the CPU clock */
	uint32_t line_shift; /* number to subtract from addresses in line records */
	uint8_t id[CODE_DUMP_ID_SIZE];
	bool is_broken; /* damaged, or not a jitdump: not read any further */
	/* Read up to the first move later than this, and the rest next time; 0: read everything. */
	uint64_t moves_until;
	VEC(struct jitdump_code) codes;
	struct index by_code_index;
	struct code_stats stats;
};

/* A zeroed struct has nothing to release. */
void jitdump_release(struct jitdump *d);
/*
 * Reads the data appended since the last call, at most about `budget` bytes. Returns true if there
 * is more. `clock` converts the times of dumps that use the CPU's clock.
 */
bool jitdump_read(struct jitdump *d, int fd, uint64_t budget, const struct arch_clock *clock,
		  code_piece_fn *fn, void *ctx);
