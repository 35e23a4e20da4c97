/* SPDX-License-Identifier: MIT */
/*
 * Runs jobs in threads and hands them back in their order, whatever the order in which they finish.
 */
#ifndef PROF_SYMBOLIZE_WORKERS_H
#define PROF_SYMBOLIZE_WORKERS_H

#include <stddef.h>
#include <stdint.h>

struct worker_jobs {
	size_t count;
	const uint32_t *order; /* of starting: each number below count once */
	/* Called in one of the threads. */
	void (*run)(void *ctx, size_t job);
	/*
	 * Called in the caller's thread once the job has run and all earlier ones have been taken.
	 */
	void (*take)(void *ctx, size_t job);
	void *ctx;
};

/* CPUs that this process may use. */
unsigned int workers_default(void);
/*
 * Returns when all jobs are taken. `threads` must be at least 1 and may exceed the number of jobs.
 */
void workers_run(const struct worker_jobs *jobs, unsigned int threads);

#endif
