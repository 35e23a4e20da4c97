/* SPDX-License-Identifier: MIT */
/*
 * busy_threads THREADS PIECES: threads in a ring, two per CPU at work at a time. A thread that has
 * done 20 µs of work starts the next. Prints "ready" when all exist; for each line of input does
 * that many pieces, and prints how many ns of time and of CPU time they took. For benchmarks: cost
 * of a recorder if threads change all the time.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

static int thread_count;
static sem_t *starts, all_done;
static atomic_long pieces_left;
static atomic_int working;

static NOINLINE void piece_of_work(void)
{
	burn_a_little();
}

/* Every token without work ends here. */
static void pass_on(int next)
{
	if (atomic_fetch_sub(&pieces_left, 1) > 0)
		sem_post(&starts[next]);
	else if (atomic_fetch_sub(&working, 1) == 1)
		sem_post(&all_done);
}

static void *run(void *arg)
{
	int number = (int)(intptr_t)arg;

	for (;;) {
		sem_wait(&starts[number]);
		piece_of_work();
		pass_on((number + 1) % thread_count);
	}
	return NULL;
}

static long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void do_pieces(long count)
{
	long start = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	int tokens = MIN(thread_count, 2 * (int)sysconf(_SC_NPROCESSORS_ONLN));

	pieces_left = count - tokens;
	working = tokens;
	for (int i = 0; i < tokens; i++)
		sem_post(&starts[(long)i * thread_count / tokens]);
	sem_wait(&all_done);
	printf("%ld %ld\n", now_ns(CLOCK_MONOTONIC) - start,
	       now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long pieces = argc > 2 ? atol(argv[2]) : 0;
	pthread_attr_t attributes;
	pthread_t thread;

	thread_count = argc > 2 ? atoi(argv[1]) : 0;
	if (thread_count < 1 || pieces < 1 || pthread_attr_init(&attributes) ||
	    pthread_attr_setstacksize(&attributes, 65536) || sem_init(&all_done, 0, 0))
		return 2;
	starts = calloc((size_t)thread_count, sizeof(*starts));
	if (!starts)
		return 1;
	for (int i = 0; i < thread_count; i++) {
		if (sem_init(&starts[i], 0, 0) ||
		    pthread_create(&thread, &attributes, run, (void *)(intptr_t)i)) {
			perror("pthread_create");
			return 1;
		}
	}
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		do_pieces(pieces);
	return 0;
}
