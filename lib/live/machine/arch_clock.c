/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/arch_clock.h"

#include "lib/base/clock.h"

#define TRIES 5

static uint64_t read_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return 0;
#endif
}

/* Tries again if interrupted between the two reads. */
void arch_clock_read(struct arch_clock *clock)
{
	uint64_t narrowest = UINT64_MAX;

	for (unsigned int i = 0; i < TRIES; i++) {
		uint64_t before = clock_monotonic_ns(), ticks = read_ticks();
		uint64_t took = clock_monotonic_ns() - before;

		if (took >= narrowest)
			continue;
		narrowest = took;
		*clock = (struct arch_clock){.ticks = ticks, .ns = before + took / 2};
	}
}

uint64_t arch_clock_to_ns(const struct arch_clock *first, const struct arch_clock *second,
			  uint64_t ticks)
{
	double ns, rate;

	if (second->ticks <= first->ticks || second->ns <= first->ns)
		return 0;
	rate = (double)(second->ns - first->ns) / (double)(second->ticks - first->ticks);
	/* Convert differences only: a double keeps microseconds over weeks. */
	if (ticks >= first->ticks)
		ns = (double)first->ns + (double)(ticks - first->ticks) * rate;
	else
		ns = (double)first->ns - (double)(first->ticks - ticks) * rate;
	return ns > 0 && ns < 9e18 ? (uint64_t)ns : 0;
}
