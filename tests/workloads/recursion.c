/* SPDX-License-Identifier: MIT */
/* recursion [DEPTH [MS]]: MS (300) ms in bottom(), below DEPTH calls of recurse(). */
#include <stdlib.h>

#include "tests/workloads/burn.h"

static int ms = 300;

static NOINLINE void bottom(void)
{
	burn_ms(ms);
}

static NOINLINE int recurse(int depth)
{
	int below = 0;

	if (depth > 1)
		below = recurse(depth - 1);
	else
		bottom();
	/* Prevents a tail call and a loop. */
	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 50;

	if (argc > 2)
		ms = atoi(argv[2]);
	return recurse(depth) == depth ? 0 : 1;
}
