/* SPDX-License-Identifier: MIT */
/*
 * Runs jobs in threads, as many at a time as there are CPUs for, and hands them back in their
 * order, whatever the order in which they are done.
 */
#ifndef PROF_SYMBOLIZE_WORKERS_H
#define PROF_SYMBOLIZE_WORKERS_H

#include <stddef.h>
#include <stdint.h>

struct worker_jobs {
	size_t count;
	const uint32_t *order; /* in which they are started: each number below count once */
	/* In one of the threads. */
	void (*run)(void *ctx, size_t job);
	/* In the caller's thread: once a job has run, and all before it have been taken. */
	void (*take)(void *ctx, size_t job);
	void *ctx;
};

/* CPUs that this process may use. */
unsigned int workers_default(void);
/* Returns when all jobs are taken. `threads` is at least 1; more than there are jobs is fine. */
void workers_run(const struct worker_jobs *jobs, unsigned int threads);

#endif
