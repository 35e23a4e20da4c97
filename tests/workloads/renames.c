/* SPDX-License-Identifier: MIT */
/*
 * renames ROUNDS: one thread burns 100 ms at a time, in turn as "loud" in loud_work() and as
 * "quiet" in quiet_work(); main sleeps.
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/workloads/burn.h"

static int rounds = 3;

static NOINLINE void loud_work(void)
{
	burn_ms(100);
}

static NOINLINE void quiet_work(void)
{
	burn_ms(100);
}

static void *run(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		pthread_setname_np(pthread_self(), "loud");
		loud_work();
		pthread_setname_np(pthread_self(), "quiet");
		quiet_work();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1)
		rounds = atoi(argv[1]);
	if (pthread_create(&thread, NULL, run, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
