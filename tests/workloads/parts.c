/* SPDX-License-Identifier: MIT */
/*
 * parts [ROUNDS [FACTOR]]: the same work whatever it costs, in functions with 50, 20, 12, 10 and 8
 * % of it; 100 rounds are some tenths of a second. The one with 20 % does FACTOR times as much.
 */
#include <stdlib.h>

#include "tests/workloads/burn.h"

#define PART(name, percent) \
	static NOINLINE uint64_t name(uint64_t x, double factor) \
	{ \
		int steps = (int)(10000 * (percent)*factor); \
\
		for (int i = 0; i < steps; i++) { \
			x ^= x << 13; \
			x ^= x >> 7; \
			x ^= x << 17; \
			__asm__ volatile("" : "+r"(x)); \
		} \
		return x; \
	}

PART(half, 50)
PART(fifth, 20)
PART(eighth, 12)
PART(tenth, 10)
PART(twelfth, 8)

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	double factor = argc > 2 ? strtod(argv[2], NULL) : 1;
	uint64_t x = 88172645463325252;

	for (int i = 0; i < rounds; i++) {
		x = half(x, 1);
		x = fifth(x, factor);
		x = eighth(x, 1);
		x = tenth(x, 1);
		x = twelfth(x, 1);
	}
	return x == 0;
}
