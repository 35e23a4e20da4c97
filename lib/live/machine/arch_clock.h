/* SPDX-License-Identifier: MIT */
/* Relates the CPU's own clock (TSC, virtual counter) to CLOCK_MONOTONIC. */
#pragma once

#include <stdint.h>

/* The same moment on both clocks. */
struct arch_clock {
	uint64_t ticks, ns;
};

void arch_clock_read(struct arch_clock *clock);
/* Converts a tick to CLOCK_MONOTONIC ns, given two moments some time apart; 0 if unknown. */
uint64_t arch_clock_to_ns(const struct arch_clock *first, const struct arch_clock *second,
			  uint64_t ticks);
