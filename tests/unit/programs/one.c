/* SPDX-License-Identifier: MIT */
#include "tests/unit/programs/split.h"

INLINED void one_inner(volatile int *n)
{
	*n *= 5;
	MARK(mark_one_inner);
}

INLINED void one_middle(volatile int *n)
{
	one_inner(n);
	*n += 1;
}

FUNCTION void one_outer(volatile int *n)
{
	MARK(mark_one_outer);
	one_middle(n);
}

/* Another section, so that the unit has no single range. */
__attribute__((section(".text.apart"))) FUNCTION void one_apart(volatile int *n)
{
	if (*n > 10)
		shared_inner(n);
	MARK(mark_one_apart);
}
