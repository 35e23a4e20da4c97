/* SPDX-License-Identifier: MIT */
/* The clock that a CPU counts by itself (TSC, virtual counter), beside CLOCK_MONOTONIC. */
#ifndef PROF_LIB_LIVE_MACHINE_ARCH_CLOCK_H
#define PROF_LIB_LIVE_MACHINE_ARCH_CLOCK_H

#include <stdint.h>

/* One moment on both. */
struct arch_clock {
	uint64_t ticks, ns;
};

void arch_clock_read(struct arch_clock *clock);
/* The CLOCK_MONOTONIC time of that tick, by two moments some time apart; 0: not to be told. */
uint64_t arch_clock_to_ns(const struct arch_clock *first, const struct arch_clock *second,
			  uint64_t ticks);

#endif
