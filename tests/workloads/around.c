/* SPDX-License-Identifier: MIT */
/*
 * around LIBRARY MS BEFORE AFTER: loads a library, a copy of library.so, and works MS as `outside`;
 * runs the shell command BEFORE, works MS as `inside` and in the library, runs AFTER, and works as
 * `outside` again. Meanwhile a thread sleeps, all the time. Prints the CPU time of the middle in
 * ms.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

typedef void work_fn(double ms);

static NOINLINE void outside(double ms)
{
	burn_ms(ms);
}

static NOINLINE void inside(double ms)
{
	burn_ms(ms);
}

static void *sleep_on(void *unused)
{
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	void *library = argc == 5 ? dlopen(argv[1], RTLD_NOW) : NULL;
	work_fn *work = library ? (work_fn *)dlsym(library, "library_work") : NULL;
	double ms = argc == 5 ? strtod(argv[2], NULL) : 0, begin;
	pthread_t sleeper;

	if (!work || pthread_create(&sleeper, NULL, sleep_on, NULL))
		return 2;
	outside(ms);
	if (system(argv[3]))
		return 3;
	begin = (double)thread_cpu_ns() / 1e6;
	inside(ms);
	work(ms);
	begin = (double)thread_cpu_ns() / 1e6 - begin;
	if (system(argv[4]))
		return 3;
	outside(ms);
	printf("%.3f\n", begin);
	return 0;
}
