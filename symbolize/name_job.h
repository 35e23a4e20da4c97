/* SPDX-License-Identifier: MIT */
/*
 * Names addresses of one module: opens the symbolizers that know its kind, asks them in turn, and
 * frees them. Several of these can work side by side, even on parts of one module: each opens what
 * it reads for itself.
 */
#ifndef PROF_SYMBOLIZE_NAME_JOB_H
#define PROF_SYMBOLIZE_NAME_JOB_H

#include <pthread.h>

#include "symbolize/answers.h"
#include "symbolize/symbolizer.h"

/* The kernel's symbols: those given, else its list, which is read when it is asked for, and once.
 */
struct kernel_list {
	pthread_mutex_t lock;
	const struct kernel_table *given; /* NULL: none are */
	int fd; /* borrowed; -1: not to be had */
	bool was_read;
	struct kernel_table *table; /* NULL: not to be had */
};

#define KERNEL_LIST_INIT(symbols) \
	((struct kernel_list){.lock = PTHREAD_MUTEX_INITIALIZER, .given = (symbols), .fd = -1})
void kernel_list_release(struct kernel_list *list);

/* Borrowed, and not changed by anybody meanwhile. */
struct name_task {
	struct symbolizer_input input; /* without the kernel's symbols */
	struct kernel_list *kernel;
	const struct place *places; /* in order of their addresses */
	size_t count;
	/* Asked between two batches: true, and what is not named yet stays so. */
	bool (*should_stop)(void *ctx);
	void *ctx;
};

/* What the names say no longer needs a symbolizer. */
void name_places(const struct name_task *task, struct answers *names);

#endif
