/* SPDX-License-Identifier: MIT */
/*
 * Runs jobs in threads and hands them back in their order, whatever the order in which they finish.
 * A job that reads files may never end: a network's file system need not answer. Once no thread of
 * the process but the caller's uses a CPU or comes back from waiting for a while, jobs that still
 * run are given up, and their threads are left behind.
 */
#ifndef PROF_LIB_BASE_WORKERS_H
#define PROF_LIB_BASE_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum workers_wish {
	WORKERS_GO_ON,
	WORKERS_HURRY, /* give up what is not done within a moment */
	WORKERS_END, /* give up what is not done now */
};

struct worker_jobs {
	size_t count;
	const uint32_t *order; /* of starting: each number below count once; NULL: as they are */
	uint64_t stall_ns; /* time without any progress, after which jobs are given up; 0: never */
	/* Called in one of the threads. */
	void (*run)(void *ctx, size_t job);
	/*
	 * Called in the caller's thread once the job has run and all earlier ones were taken or
	 * given up.
	 */
	void (*take)(void *ctx, size_t job);
	/* Called instead for a job that still runs, or that was never begun. NULL: nothing to do.
	 */
	void (*abandon)(void *ctx, size_t job);
	/* Called some times a second in the caller's thread. NULL: go on. */
	enum workers_wish (*ask)(void *ctx, size_t done);
	void *ctx;
};

/* CPUs that this process may use. */
unsigned int workers_default(void);
/*
 * Returns when all jobs are taken or given up. `threads` must be at least 1 and may exceed the
 * number of jobs; more are started while some stand still. False: threads were left behind, so all
 * that the jobs use must stay as long as the process.
 */
bool workers_run(const struct worker_jobs *jobs, unsigned int threads);

#endif
