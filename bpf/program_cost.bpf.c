// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/program_cost.bpf.h"

__noinline int begin_run(__u32 program)
{
	struct program_cost *cost = own_cost(program);

	return cost && begin_cost(cost);
}

__noinline int end_run(__u32 program, __u64 end)
{
	struct program_cost *cost = own_cost(program);
	__u64 ns;

	if (!cost || !cost->start)
		return 0;
	if (!end)
		end = bpf_ktime_get_ns();
	/* The result includes one reading of the clock, like the kernel's account. */
	ns = end - cost->start;
	if (ns > cost->max_ns)
		cost->max_ns = ns;
	if (!cost->min_ns || ns < cost->min_ns)
		cost->min_ns = ns;
	if (cost->runs <= TIMED_RUNS) {
		cost->early_ns += ns;
	} else {
		cost->late_ns += ns;
		cost->late_timed++;
	}
	/*
	 * A program may alternate between two tasks: a fixed distance would always time the same
	 * one. The lowest bits of the time are random enough.
	 */
	if (cost->runs >= TIMED_RUNS)
		cost->next = cost->runs + TIMED_RUNS / 2 + (cost->start & (TIMED_RUNS - 1));
	return 0;
}
