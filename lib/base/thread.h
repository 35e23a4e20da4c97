/* SPDX-License-Identifier: MIT */
/* Threads of the program's own. */
#ifndef PROF_LIB_BASE_THREAD_H
#define PROF_LIB_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
