/* SPDX-License-Identifier: MIT */
/*
 * restless SECONDS: two processes at a time, each with three threads that sleep 60 to 160 ms at a
 * time in nap(), called by first_napper(), second_napper() or third_napper(). Each process executes
 * this program again while they sleep, and then ends while they sleep.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

#define NS_PER_MS 1000000

static void sleep_ms(long ms)
{
	const struct timespec time = {.tv_nsec = ms * NS_PER_MS};

	nanosleep(&time, NULL);
}

static NOINLINE void nap(long ms)
{
	sleep_ms(ms);
	asm volatile("");
}

#define NAPPER(name, ms) \
	static NOINLINE void *name(void *unused) \
	{ \
		for (;;) \
			nap(ms); \
		return unused; \
	}

NAPPER(first_napper, 60)
NAPPER(second_napper, 90)
NAPPER(third_napper, 160)

static void live(char *program, int generation)
{
	void *(*const nappers[])(void *) = {first_napper, second_napper, third_napper};
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, nappers[i], NULL);
	sleep_ms(230);
	if (!generation)
		execl("/proc/self/exe", program, "again", NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	struct timespec now;
	time_t end;

	if (argc > 1 && strcmp(argv[1], "again") == 0)
		live(argv[0], 1);
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + (argc > 1 ? atoi(argv[1]) : 2);
	while (now.tv_sec < end) {
		for (int i = 0; i < 2; i++) {
			if (fork() == 0)
				live(argv[0], 0);
		}
		while (wait(NULL) > 0)
			;
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	return 0;
}
