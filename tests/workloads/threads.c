/* SPDX-License-Identifier: MIT */
/*
 * threads [SECONDS]: main uses 10 % of the CPU time in main_work(), the thread "worker-a" 30 % in
 * work_a(), the thread "worker-b" 60 % in work_b().
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/workloads/burn.h"

static double total_ms = 2000;

static NOINLINE void main_work(void)
{
	burn_ms(total_ms * 0.1);
}

static NOINLINE void *work_a(void *unused)
{
	pthread_setname_np(pthread_self(), "worker-a");
	burn_ms(total_ms * 0.3);
	return NULL;
}

static NOINLINE void *work_b(void *unused)
{
	pthread_setname_np(pthread_self(), "worker-b");
	burn_ms(total_ms * 0.6);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	if (argc > 1)
		total_ms = strtod(argv[1], NULL) * 1000;
	if (pthread_create(&a, NULL, work_a, NULL) || pthread_create(&b, NULL, work_b, NULL))
		return 1;
	main_work();
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
