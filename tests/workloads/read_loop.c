/* SPDX-License-Identifier: MIT */
/*
 * System calls that do next to nothing.
 *
 *	read_loop
 *
 * Reads numbers from stdin, makes as many calls of read() on /dev/zero, and answers with the time
 * that they took, in ns.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	long count;
	char c;

	while (scanf("%ld", &count) == 1) {
		long long start = now_ns();

		for (long i = 0; i < count; i++) {
			if (read(fd, &c, 1) != 1)
				return 1;
		}
		printf("%lld\n", now_ns() - start);
		fflush(stdout);
	}
	return 0;
}
