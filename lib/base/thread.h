/* SPDX-License-Identifier: MIT */
/* Threads of the program's own. */
#ifndef PROF_LIB_BASE_THREAD_H
#define PROF_LIB_BASE_THREAD_H

#include <pthread.h>

/*
 * Starts a thread that receives no signals. `name` shows in lists of threads, 15 bytes of it.
 * Returns 0 or an error number, as pthread_create() does; whoever starts it joins or detaches it.
 */
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *ctx);

#endif
