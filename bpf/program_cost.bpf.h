/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Times some runs of the programs. */
#pragma once

#include "bpf/config.h"
#include "bpf/kernel.h"

struct program_costs_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct program_costs);
};

extern struct program_costs_map program_costs SEC(".maps");

/* Returns this CPU's row of the program (enum timed_program). */
static __always_inline struct program_cost *own_cost(__u32 program)
{
	__u32 zero = 0;
	struct program_costs *costs = bpf_map_lookup_elem(&program_costs, &zero);

	return costs && program < TIMED_PROGRAM_COUNT ? &costs->of[program] : NULL;
}

/* Begins a run. True: it is timed. */
static __always_inline bool begin_cost(struct program_cost *cost)
{
	cost->start = cost->runs++ < cost->next ? 0 : bpf_ktime_get_ns();
	return cost->start;
}

/*
 * begin_run() is called first by a program (enum timed_program), end_run() last if begin_run()
 * returned true. `end` in ns; 0 if it is unknown whether the run is timed: the clock is then read
 * if necessary. Global functions, so the verifier checks them once.
 */
extern int begin_run(__u32 program);
extern int end_run(__u32 program, __u64 end);

/*
 * Runs the body of a program. The end is read before code that only timed runs execute, since that
 * code is seldom cached.
 */
#define RUN_TIMED(program, work) \
	do { \
		int is_timed_ = begin_run(program); \
\
		work; \
		if (is_timed_) \
			end_run(program, bpf_ktime_get_ns()); \
	} while (0)

/*
 * RUN_TIMED() for very frequent programs: returning from a function takes longer if the kernel
 * guards returns against speculation. Reads again from memory whether the run is timed: for a
 * constant, the verifier would check the whole program twice. Uses stack of the program.
 */
#define RUN_TIMED_INLINE(program, work) \
	do { \
		struct program_cost *cost_ = own_cost(program); \
\
		if (!cost_) \
			break; \
		begin_cost(cost_); \
		work; \
		if (cost_->start) \
			end_run(program, bpf_ktime_get_ns()); \
	} while (0)
