/* SPDX-License-Identifier: MIT */
/* Two versions of a program: with -DSLOW, checksum() takes half as long again. */
#ifdef SLOW
#define ROUNDS 450
#else
#define ROUNDS 300
#endif

static volatile unsigned int sink;

__attribute__((noinline)) static unsigned int checksum(unsigned int seed)
{
	for (int i = 0; i < ROUNDS; i++)
		seed = seed * 1664525u + 1013904223u;
	return seed;
}

__attribute__((noinline)) static unsigned int parse(unsigned int seed)
{
	for (int i = 0; i < 600; i++)
		seed = seed * 22695477u + 1u;
	return seed;
}

int main(void)
{
	for (int i = 0; i < 300000; i++)
		sink = checksum(parse((unsigned int)i));
	return 0;
}
