/* SPDX-License-Identifier: MIT */
/*
 * fixed_work [ROUNDS]: a fixed amount of work, 30 calls deep; 1000 rounds take some seconds. For
 * benchmarks: its CPU time tells what a recorder adds.
 */
#include <stdlib.h>

#include "tests/workloads/burn.h"

static NOINLINE uint64_t work(uint64_t x)
{
	for (int i = 0; i < 20000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static NOINLINE uint64_t descend(int depth, uint64_t x)
{
	uint64_t result = depth > 0 ? descend(depth - 1, x) : work(x);

	__asm__ volatile("" : "+r"(result));
	return result + 1;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	uint64_t x = 88172645463325252;

	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < 80; k++)
			x = descend(30, x);
	}
	return x == 0;
}
