/* SPDX-License-Identifier: MIT */
/*
 * Two threads on one CPU that do nothing but wake each other, by pipes.
 *
 *	ping_pong CPU
 *
 * Reads numbers of round trips from stdin, makes as many, and answers with the CPU time that they
 * took, in ns. Each has two context switches.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int there[2], back[2];

static void pass(const int from[2], const int to[2])
{
	char c = 0;

	if (from && read(from[0], &c, 1) != 1)
		exit(1);
	if (to && write(to[1], &c, 1) != 1)
		exit(1);
}

static void *answer(void *unused)
{
	for (;;)
		pass(there, back);
	return NULL;
}

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	cpu_set_t cpus;
	long count;

	CPU_ZERO(&cpus);
	CPU_SET(argc > 1 ? strtoul(argv[1], NULL, 10) : 0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || pipe(there) || pipe(back) ||
	    pthread_create(&thread, NULL, answer, NULL))
		return 1;
	while (scanf("%ld", &count) == 1) {
		long long start = cpu_ns();

		for (long i = 0; i < count; i++) {
			pass(NULL, there);
			pass(back, NULL);
		}
		printf("%lld\n", cpu_ns() - start);
		fflush(stdout);
	}
	return 0;
}
