/* SPDX-License-Identifier: MIT */
/*
 * many_threads COUNT: has COUNT threads including main. They sleep, except main, which prints
 * "ready" when all exist and then works in main_work().
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

static void *sleeper(void *barrier)
{
	pthread_setname_np(pthread_self(), "sleeper");
	pthread_barrier_wait((pthread_barrier_t *)barrier);
	for (;;)
		pause();
	return NULL;
}

static NOINLINE void main_work(void)
{
	for (;;)
		burn_a_little();
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	pthread_barrier_t barrier;
	pthread_attr_t attributes;
	pthread_t thread;

	if (count < 1 || pthread_barrier_init(&barrier, NULL, (unsigned int)count) ||
	    pthread_attr_init(&attributes) ||
	    pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + 16384))
		return 1;
	for (int i = 1; i < count; i++) {
		if (pthread_create(&thread, &attributes, sleeper, &barrier)) {
			perror("pthread_create");
			return 1;
		}
	}
	pthread_barrier_wait(&barrier);
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	main_work();
	return 0;
}
