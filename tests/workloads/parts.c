/* SPDX-License-Identifier: MIT */
/*
 * parts [ROUNDS [FACTOR]]: the same work whatever it costs, in functions with 50, 20, 12, 10 and 8
 * % of it; 100 rounds are some tenths of a second. The one with 20 % does FACTOR times as much.
 *
 * Calls are of many lengths: equal ones, near a multiple of the sampling interval, would meet the
 * same function again and again, and another one in the next run.
 */
#include <stdlib.h>

#include "tests/workloads/burn.h"

#define ROUND 10000 /* steps a percent, on average */
#define PIECES 20 /* a round */

#define PART(name, percent) \
	static NOINLINE uint64_t name(uint64_t x, double factor) \
	{ \
		int steps = (int)(factor * (percent)); \
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
	uint32_t chance = 1;

	for (int i = 0; i < rounds * PIECES; i++) {
		double length;

		chance = chance * 1664525 + 1013904223;
		length = 2.0 * ROUND / PIECES * chance / UINT32_MAX;
		x = half(x, length);
		x = fifth(x, length * factor);
		x = eighth(x, length);
		x = tenth(x, length);
		x = twelfth(x, length);
	}
	return x == 0;
}
