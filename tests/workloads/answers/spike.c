/* SPDX-License-Identifier: MIT */
/* A loop of short requests; the last but 20 of them takes long, in rebuild_index(). */
#include <stdlib.h>
#include <unistd.h>

static void spend(int rounds)
{
	for (volatile int i = 0; i < rounds; i++)
		;
}

__attribute__((noinline)) static void rebuild_index(void)
{
	spend(300000000);
	__asm__ volatile("");
}

__attribute__((noinline)) static void serve(int is_slow)
{
	spend(50000);
	if (is_slow)
		rebuild_index();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int requests = argc > 1 ? atoi(argv[1]) : 1000;

	for (int i = 0; i < requests; i++) {
		serve(i == requests - 20);
		usleep(2000);
	}
	return 0;
}
