/* SPDX-License-Identifier: MIT */
/*
 * Measures the loading of BPF programs for each way of unwinding: the medians of several runs, by
 * the clock and in CPU time, which neighbours change less. Needs root.
 *
 *	bench_load [RUNS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bpf/config.h"
#include "lib/live/process/filter.h"
#include "lib/live/bpf/programs.h"

#define RUNS_MAX 100
#define TARGET_MS 80

static double ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

static void take_record(void *ctx, const void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
}

static int measure(const char *name, uint32_t unwind, size_t runs)
{
	const struct filter filter = {0};
	const struct programs_options options = {
		.possible_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.ring_bytes = 1 << 20,
		.unwind = unwind,
		.filter = &filter,
	};
	double cpu[RUNS_MAX], wall[RUNS_MAX];

	for (size_t i = 0; i < runs; i++) {
		double cpu_start = ms(CLOCK_PROCESS_CPUTIME_ID), start = ms(CLOCK_MONOTONIC);
		struct programs *programs;
		struct error err;

		if (programs_load(&programs, &options, take_record, NULL, &err)) {
			fprintf(stderr, "%s\n", err.text);
			return -1;
		}
		cpu[i] = ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
		wall[i] = ms(CLOCK_MONOTONIC) - start;
		programs_free(programs);
	}
	printf("load_%s %.1f ms (target: at most %d)\n", name, median(wall, runs), TARGET_MS);
	printf("load_cpu_%s %.1f ms\n", name, median(cpu, runs));
	return 0;
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 15;
	int ret;

	if (runs < 1 || runs > RUNS_MAX)
		return 2;
	ret = measure("auto", UNWIND_BY_CFI | UNWIND_BY_FRAME_POINTER | UNWIND_BY_SCAN,
		      (size_t)runs);
	ret |= measure("fp", UNWIND_BY_KERNEL, (size_t)runs);
	return ret ? 1 : 0;
}
