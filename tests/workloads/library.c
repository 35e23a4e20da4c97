/* SPDX-License-Identifier: MIT */
/* A library: library_work() uses CPU time in library_inner(). */
#include "tests/workloads/burn.h"

void library_work(double ms);

static NOINLINE int library_inner(double ms)
{
	burn_ms(ms);
	return ms > 0;
}

void library_work(double ms)
{
	int result = library_inner(ms);

	/* Prevents a tail call. */
	__asm__ volatile("" : "+r"(result));
}
