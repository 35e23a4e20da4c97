/* SPDX-License-Identifier: MIT */
/*
 * Runs jobs in threads and hands them back in their order, whatever the order in which they finish.
 * A job that reads files may never end: a network's file system need not answer. Once no thread of
 * the process but the caller's uses a CPU or comes back from waiting for a while, jobs that still
 * run are given up, and their threads are left behind.
 */
#ifndef PROF_LIB_BASE_WORKERS_H
#define PROF_LIB_BASE_WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Niceness of a thread, see setpriority(2). On a machine with many more runnable threads than CPUs,
 * a recorder gets less than it needs, and records are lost.
 */

/*
 * Makes the calling thread, and those that it starts from now on, more urgent than others. Changes
 * nothing if that takes rights that prof lacks, or if the user chose a niceness.
 */
void urgency_raise(void);
/* Makes the calling thread as urgent as others if it is more so. */
void urgency_lower(void);

/* Threads of the program's own. */

/*
 * Starts a thread that receives no signals. `name` shows in lists of threads, 15 bytes of it.
 * Returns 0 or an error number, as pthread_create() does; whoever starts it joins or detaches it.
 */
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *ctx);
/*
 * Calls run(ctx) in a thread of that name, and meanwhile(arg) in the caller's every 20 ms until it
 * has ended. The thread is no more urgent than others. Without a thread, calls run(ctx) in the
 * caller's.
 */
void thread_run_beside(const char *name, void (*run)(void *ctx), void *ctx,
		       void (*meanwhile)(void *arg), void *arg);
/* Initializes a condition whose waits end by CLOCK_MONOTONIC. */
void thread_cond_init(pthread_cond_t *cond);
/*
 * Joins a thread that ends soon unless a file system does not answer it. False: it was left behind,
 * so what it uses must stay.
 */
bool thread_join_soon(pthread_t thread);
/* Notes that a thread was left behind: nothing that it may use is freed any more. */
void threads_leave(void);
/* Was a thread left behind? Then the process ends by _exit(), and frees nothing before. */
bool threads_are_left(void);

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
