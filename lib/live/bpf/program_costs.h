/* SPDX-License-Identifier: MIT */
/* Total time of a BPF program's runs, of which only some are timed. */
#pragma once

#include <stdint.h>

#include "bpf/live_record.h"

/* Returns ns. Later runs that were not timed count as the average of those that were. */
static inline uint64_t program_cost_ns(const struct program_cost *cost)
{
	uint64_t late = cost->runs > TIMED_RUNS ? cost->runs - TIMED_RUNS : 0;

	if (!cost->late_timed)
		return cost->early_ns;
	return cost->early_ns +
	       (uint64_t)((double)cost->late_ns * (double)late / (double)cost->late_timed);
}
