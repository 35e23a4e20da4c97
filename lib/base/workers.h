/* SPDX-License-Identifier: MIT */
/*
 * Runs jobs in threads and returns results in job order, regardless of the order in which they
 * finish. A job that reads files may block forever on a network file system. If for a while no
 * thread but the caller's has used a CPU or returned from a wait, running jobs are given up and
 * their threads left behind.
 */
#pragma once

#include <pthread.h>

#include "lib/base/base.h"

/*
 * Niceness of a thread, see setpriority(2). On a machine with many more runnable threads than CPUs,
 * a recorder of normal niceness gets too little CPU time and loses records.
 */

/*
 * Raises the priority of the calling thread and of threads it starts from now on. Changes nothing
 * if prof lacks the rights, or if the user chose a niceness.
 */
void urgency_raise(void);
/* Lowers the calling thread to normal priority if it was raised. */
void urgency_lower(void);

/* Threads of the program itself. */

/*
 * Starts a thread with all signals blocked. `name` (15 bytes of it) shows in lists of threads.
 * Returns 0 or an error number, as pthread_create() does; the caller joins or detaches the thread.
 */
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *ctx);
/*
 * Calls run(ctx) in a thread of that name, and meanwhile(arg) in the caller's thread every 20 ms
 * until it has ended. The thread has normal priority. If no thread can be started, calls run(ctx)
 * in the caller's.
 */
void thread_run_beside(const char *name, void (*run)(void *ctx), void *ctx,
		       void (*meanwhile)(void *arg), void *arg);
/* Initializes a condition whose timed waits use CLOCK_MONOTONIC. */
void thread_cond_init(pthread_cond_t *cond);
/*
 * Joins a thread that ends soon unless a file system blocks it. Returns false if it was left
 * behind; memory it uses must then stay allocated.
 */
bool thread_join_soon(pthread_t thread);
/*
 * True if a thread was left behind. The process must then end by _exit(), freeing nothing before.
 */
bool threads_are_left(void);

enum workers_wish {
	WORKERS_GO_ON,
	WORKERS_HURRY, /* abandon jobs that do not finish within a moment */
	WORKERS_END, /* abandon unfinished jobs now */
};

struct worker_jobs {
	size_t count;
	const uint32_t *order; /* starting order, a permutation of [0, count); NULL: ascending */
	uint64_t stall_ns; /* time without any progress after which jobs are abandoned; 0: never */
	/* Called in one of the threads. */
	void (*run)(void *ctx, size_t job);
	/*
	 * Called in the caller's thread once the job has run and all earlier jobs were taken or
	 * abandoned.
	 */
	void (*take)(void *ctx, size_t job);
	/* Called instead for a job that is still running or was never begun. May be NULL. */
	void (*abandon)(void *ctx, size_t job);
	/* Called a few times a second in the caller's thread. NULL: always continue. */
	enum workers_wish (*progress)(void *ctx, size_t done);
	void *ctx;
};

/* Number of CPUs that this process may use. */
unsigned int workers_default(void);
/*
 * Returns when all jobs are taken or abandoned. `threads` must be at least 1 and may exceed the
 * number of jobs; more are started while some are blocked. Returns false if threads were left
 * behind: everything that the jobs use must then live as long as the process.
 */
bool workers_run(const struct worker_jobs *jobs, unsigned int threads);

/* Calls that may never return, for example into a file system whose server does not respond. */

/*
 * Calls run(ctx) in a new thread and waits up to limit_ns for it. Returns true if it returned. On
 * false the thread is left behind; it calls release(ctx) if run() ever returns, and the caller must
 * not touch ctx any more. Calls run(ctx) in the caller's thread if no thread can be started.
 */
bool bounded_call(void (*run)(void *ctx), void (*release)(void *ctx), void *ctx, uint64_t limit_ns);
