/* SPDX-License-Identifier: MIT */
#include "tests/unit/programs/split.h"

FUNCTION void one_outer(volatile int *n);
FUNCTION void one_apart(volatile int *n);

INLINED int two_inner(volatile int *n)
{
	shared_inner(n);
	MARK(mark_two_inner);
	return *n;
}

/* The cold half makes the inlined call fall into several ranges. */
FUNCTION int two_outer(volatile int *n)
{
	int sum = 0;

	for (int i = 0; i < *n; i++) {
		if (__builtin_expect(two_inner(n) > 100, 0))
			one_apart(n);
		sum += i;
	}
	MARK(mark_two_outer);
	return sum;
}

void _start(void)
{
	volatile int n = 4;

	one_outer(&n);
	two_outer(&n);
	for (;;)
		continue;
}
