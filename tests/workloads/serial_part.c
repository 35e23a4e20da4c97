/* SPDX-License-Identifier: MIT */
/*
 * serial_part MS: main runs alone, in serial_part(), for MS of its time. Then two threads run in
 * parallel_part() until both have run at a time for MS, or one for five times as long. Prints the
 * ms in which a thread ran in serial_part(), in which any ran in parallel_part(), and in which both
 * did.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/workloads/burn.h"

/* A thread that looked at the clock this long ago still runs; others' turns are longer. */
#define STEP_NS 300000

static double limit_ns;

static struct side {
	_Alignas(128) _Atomic int64_t seen; /* time of the thread's latest look at the clock */
	double ran, both; /* ns; `both`: while the other thread ran, too */
} sides[2];
static atomic_bool is_over;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Looks at the clock. other NULL: there is no other thread. */
static inline void step(struct side *own, const struct side *other)
{
	int64_t now = now_ns(), passed = now - own->seen;

	if (passed < STEP_NS) {
		own->ran += (double)passed;
		if (other && llabs(now - other->seen) < STEP_NS)
			own->both += (double)passed;
	}
	own->seen = now;
}

static NOINLINE void serial_part(struct side *own)
{
	own->seen = now_ns();
	while (own->ran < limit_ns)
		step(own, NULL);
}

static NOINLINE void *parallel_part(void *arg)
{
	struct side *own = arg, *other = &sides[own == sides];

	own->seen = now_ns();
	while (!is_over) {
		step(own, other);
		if (own->both >= limit_ns || own->ran >= 5 * limit_ns)
			is_over = true;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct side alone = {0};
	pthread_t threads[2];
	double both;

	limit_ns = (argc > 1 ? strtod(argv[1], NULL) : 500) * 1e6;
	serial_part(&alone);
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, parallel_part, &sides[i]))
			return 1;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	both = (sides[0].both + sides[1].both) / 2;
	printf("%.3f %.3f %.3f\n", alone.ran / 1e6, (sides[0].ran + sides[1].ran - both) / 1e6,
	       both / 1e6);
	return 0;
}
