/* SPDX-License-Identifier: MIT */
/* Four threads compute alone and in turns: append_log() holds a lock for most of the time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static double end;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void spend(int rounds)
{
	for (volatile int i = 0; i < rounds; i++)
		;
}

__attribute__((noinline)) static void append_log(void)
{
	pthread_mutex_lock(&log_lock);
	spend(4000000);
	pthread_mutex_unlock(&log_lock);
}

__attribute__((noinline)) static void handle(void)
{
	spend(1000000);
	append_log();
}

static void *work(void *unused)
{
	while (now() < end)
		handle();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	end = now() + (argc > 1 ? atof(argv[1]) : 2);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
