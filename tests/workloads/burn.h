/* SPDX-License-Identifier: MIT */
/*
 * Using up CPU time, exactly: measured by the thread's own clock, so that neither another process
 * nor a slow machine changes the shares. Inlined, so that the time is spent in the function that
 * calls it.
 */
#ifndef PROF_TESTS_WORKLOADS_BURN_H
#define PROF_TESTS_WORKLOADS_BURN_H

#include <stdint.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Some 20 µs of arithmetic: the clock, a system call, is then a small part of it. */
static ALWAYS_INLINE void burn_a_little(void)
{
	uint64_t x = 88172645463325252;

	for (int i = 0; i < 8000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* The value is needed, the compiler must believe. */
		__asm__ volatile("" : "+r"(x));
	}
}

static ALWAYS_INLINE void burn_ms(double ms)
{
	uint64_t end = thread_cpu_ns() + (uint64_t)(ms * 1e6);

	while (thread_cpu_ns() < end)
		burn_a_little();
}

#endif
