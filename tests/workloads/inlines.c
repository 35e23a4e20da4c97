/* SPDX-License-Identifier: MIT */
/*
 * inlines: 400 ms in outer(), into which middle() is inlined, into which inner() is inlined. Marks
 * the lines that a profile must name.
 */
#include "tests/workloads/burn.h"

static ALWAYS_INLINE void inner(void)
{
	uint64_t x = 88172645463325252;

	for (int i = 0; i < 400000; i++) { /* inner: first */
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	} /* inner: last */
}

static ALWAYS_INLINE void middle(void)
{
	inner(); /* middle: call */
}

static NOINLINE void outer(void)
{
	middle(); /* outer: call */
	/* Prevents a tail call, which would hide this function. */
	__asm__ volatile("");
}

int main(void)
{
	uint64_t end = thread_cpu_ns() + 400000000;

	while (thread_cpu_ns() < end)
		outer();
	return 0;
}
