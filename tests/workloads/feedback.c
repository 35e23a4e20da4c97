/* SPDX-License-Identifier: MIT */
/*
 * Code whose profile is known, for feedback to compilers: a loop with an inlined function, a call
 * by a pointer, and two blocks on one line. Lines are counted from the start of a function.
 */
#include <stdlib.h>

static volatile unsigned int sink;

static inline unsigned int scramble(unsigned int x, unsigned int key)
{
	for (int i = 0; i < 8; i++)
		x = (x << 7 | x >> 25) * 2654435761u ^ key;
	return x;
}

__attribute__((noinline)) static unsigned int rare(unsigned int x)
{
	return x * 7;
}

__attribute__((noinline)) static unsigned int often(unsigned int n,
						    unsigned int (*call)(unsigned int))
{
	unsigned int x = n;

	for (unsigned int i = 0; i < 1000; i++) {
		x += scramble(x, i);
		if (i % 100 == 99)
			x = call(x);
	}
	return x; /* once a call, so hardly ever sampled */
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;

	for (unsigned int i = 0; i < rounds; i++)
		sink += often(i, rare);
	return 0;
}
