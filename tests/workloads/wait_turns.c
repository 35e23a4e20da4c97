/* SPDX-License-Identifier: MIT */
/*
 *	wait_turns timer|pipe CPU TIMES SHORT_US LONG_US ROUNDS
 *
 * Waits TIMES times in short_wait(), then once in long_wait(), by turns, on that CPU: for timers,
 * or for thread "answer", which takes as long to answer: it sleeps, or works if that is less than
 * a timer can measure. Prints a line for both functions, as print_spent().
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/workloads/spent.h"

/* The shortest time to sleep. */
#define SLEEP_US 50

static int there[2], back[2];
static bool is_timer;

static ALWAYS_INLINE void sleep_us(int us)
{
	const struct timespec time = {.tv_nsec = us * 1000l};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static ALWAYS_INLINE void work_us(int us)
{
	long long end = wall_ns() + us * 1000ll;

	while (wall_ns() < end)
		;
}

static ALWAYS_INLINE void wait_us(int us)
{
	char c;

	if (is_timer)
		sleep_us(us);
	else if (write(there[1], &us, sizeof(us)) != sizeof(us) || read(back[0], &c, 1) != 1)
		exit(1);
}

static NOINLINE void short_wait(int us)
{
	wait_us(us);
	__asm__ volatile("");
}

static NOINLINE void long_wait(int us)
{
	wait_us(us);
	__asm__ volatile("" ::: "memory");
}

static void *answer(void *unused)
{
	int us;

	pthread_setname_np(pthread_self(), "answer");
	while (read(there[0], &us, sizeof(us)) == sizeof(us)) {
		if (us >= SLEEP_US)
			sleep_us(us);
		else
			work_us(us);
		if (write(back[1], "", 1) != 1)
			exit(1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct spent shorts = {0}, longs = {0};
	int schedstat = open_schedstat(), numbers[4];
	pthread_t thread;
	cpu_set_t cpus;

	if (argc != 7)
		return 2;
	is_timer = strcmp(argv[1], "timer") == 0;
	for (int i = 0; i < 4; i++)
		numbers[i] = atoi(argv[3 + i]);
	CPU_ZERO(&cpus);
	CPU_SET(strtoul(argv[2], NULL, 10), &cpus);
	prctl(PR_SET_TIMERSLACK, 1);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || pipe(there) || pipe(back) ||
	    (!is_timer && pthread_create(&thread, NULL, answer, NULL)))
		return 1;
	for (int i = 0; i < numbers[3]; i++) {
		struct spent start = spent_now(schedstat);

		for (int j = 0; j < numbers[0]; j++)
			short_wait(numbers[1]);
		spent_since(&shorts, schedstat, &start);
		start = spent_now(schedstat);
		long_wait(numbers[2]);
		spent_since(&longs, schedstat, &start);
	}
	print_spent("short_wait", &shorts);
	print_spent("long_wait", &longs);
	return 0;
}
