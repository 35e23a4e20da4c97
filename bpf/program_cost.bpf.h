/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times some runs of the programs. */
#ifndef PROF_BPF_PROGRAM_COST_BPF_H
#define PROF_BPF_PROGRAM_COST_BPF_H

#include "bpf/config.h"
#include "bpf/kernel.h"

struct program_costs_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct program_costs);
};

extern struct program_costs_map program_costs SEC(".maps");

/*
 * The first thing that a program (enum timed_program) does, and the last one if the first returned
 * true. `end` in ns; 0 if it is not known whether the run is timed: the clock is then read if so.
 * Global functions: the verifier checks them once, apart from their callers.
 */
extern int begin_run(__u32 program);
extern int end_run(__u32 program, __u64 end);

/*
 * Runs all that a program does. The end is read before what only timed runs do, which is seldom
 * cached.
 */
#define RUN_TIMED(program, work) \
	do { \
		int is_timed_ = begin_run(program); \
\
		work; \
		if (is_timed_) \
			end_run(program, bpf_ktime_get_ns()); \
	} while (0)

#endif
