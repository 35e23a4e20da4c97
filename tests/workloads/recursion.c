/* SPDX-License-Identifier: MIT */
/*
 * recursion [DEPTH [MS [large]]]: MS (300) ms in bottom(), below DEPTH calls of recurse(), or of
 * recurse_large(), which have frames of half a kilobyte.
 */
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

static NOINLINE int recurse_large(int depth)
{
	volatile char room[480];
	int below = 0;

	room[0] = (char)depth;
	if (depth > 1)
		below = recurse_large(depth - 1);
	else
		bottom();
	return below + (room[0] == (char)depth);
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 50;

	if (argc > 2)
		ms = atoi(argv[2]);
	return (argc > 3 ? recurse_large(depth) : recurse(depth)) == depth ? 0 : 1;
}
