/* SPDX-License-Identifier: MIT */
/*
 * short_threads [COUNT [MS]]: threads one after the other, "short-0" …, each of which lives for MS.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/workloads/burn.h"

static double life_ms = 20;

static NOINLINE void short_life(void)
{
	burn_ms(life_ms);
}

static void *run(void *name)
{
	pthread_setname_np(pthread_self(), name);
	short_life();
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 50;

	if (argc > 2)
		life_ms = strtod(argv[2], NULL);
	for (int i = 0; i < count; i++) {
		char name[24];
		pthread_t thread;

		snprintf(name, sizeof(name), "short-%d", i);
		if (pthread_create(&thread, NULL, run, name))
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}
