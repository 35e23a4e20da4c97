/* SPDX-License-Identifier: MIT */
/*
 *	spinners CPU MS
 *
 * Threads "spinner-0" and "spinner-1" each use as much CPU time, in spin(), on one CPU. Prints a
 * line for each, as print_spent().
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/workloads/spent.h"

static pthread_barrier_t all_run;
static double ms;

struct spinner {
	pthread_t thread;
	char name[16];
	struct spent spent;
};

static NOINLINE void spin(void)
{
	burn_ms(ms);
}

static void *run(void *arg)
{
	struct spinner *own = arg;
	int schedstat = open_schedstat();
	struct spent start;

	pthread_setname_np(pthread_self(), own->name);
	pthread_barrier_wait(&all_run);
	start = spent_now(schedstat);
	spin();
	spent_since(&own->spent, schedstat, &start);
	return NULL;
}

int main(int argc, char **argv)
{
	struct spinner spinners[2] = {0};
	cpu_set_t cpus;

	if (argc != 3)
		return 2;
	ms = strtod(argv[2], NULL);
	CPU_ZERO(&cpus);
	CPU_SET(strtoul(argv[1], NULL, 10), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;
	pthread_barrier_init(&all_run, NULL, 2);
	for (int i = 0; i < 2; i++) {
		snprintf(spinners[i].name, sizeof(spinners[i].name), "spinner-%d", i);
		if (pthread_create(&spinners[i].thread, NULL, run, &spinners[i]))
			return 1;
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(spinners[i].thread, NULL);
		print_spent(spinners[i].name, &spinners[i].spent);
	}
	return 0;
}
