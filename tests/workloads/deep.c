/* SPDX-License-Identifier: MIT */
/*
 * deep SECONDS: recurses 100 to 600 deep, through other functions each time, so that hardly two
 * stacks are equal, on as many threads as there are CPUs.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

#define THREADS_MAX 256

static double seconds;

struct path {
	uint64_t bits, end;
	volatile uint64_t sum;
};

static void left(struct path *p, unsigned int depth);

static NOINLINE void right(struct path *p, unsigned int depth)
{
	if (depth && p->bits >> (depth & 63) & 1)
		right(p, depth - 1);
	else if (depth)
		left(p, depth - 1);
	else
		for (unsigned int i = 0; i < 400000; i++)
			p->sum += i;
	p->sum++;
}

static NOINLINE void left(struct path *p, unsigned int depth)
{
	if (depth && p->bits >> (depth & 63) & 1)
		right(p, depth - 1);
	else if (depth)
		left(p, depth - 1);
	else
		for (unsigned int i = 0; i < 400000; i++)
			p->sum += i;
	p->sum++;
}

static void *run(void *seed)
{
	struct path p = {.bits = (uint64_t)(uintptr_t)seed * 0x9e3779b97f4a7c15ull + 1};
	uint64_t end = thread_cpu_ns() + (uint64_t)(seconds * 1e9);

	while (thread_cpu_ns() < end) {
		p.bits ^= p.bits << 13;
		p.bits ^= p.bits >> 7;
		p.bits ^= p.bits << 17;
		left(&p, 100 + (unsigned int)(p.bits % 500));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[THREADS_MAX];

	seconds = argc > 1 ? atof(argv[1]) : 1;
	if (count > THREADS_MAX)
		count = THREADS_MAX;
	for (long i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, run, (void *)(i + 1)))
			return 1;
	}
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
