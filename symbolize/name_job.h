/* SPDX-License-Identifier: MIT */
/*
 * Names addresses of one module: opens the symbolizers for its kind, asks them in turn, and frees
 * them. Several jobs can run side by side, even on parts of one module: each opens its own
 * symbolizers.
 */
#ifndef PROF_SYMBOLIZE_NAME_JOB_H
#define PROF_SYMBOLIZE_NAME_JOB_H

#include <pthread.h>

#include "symbolize/answers.h"
#include "symbolize/name_cache.h"
#include "symbolize/symbolizer.h"

/* The kernel's symbols: those given, else its list, which is read once, on the first request. */
struct kernel_list {
	pthread_mutex_t lock;
	const struct kernel_table *given; /* NULL: none are */
	int fd; /* borrowed; -1: not available */
	bool was_read;
	struct kernel_table *table; /* NULL: not available */
};

#define KERNEL_LIST_INIT(symbols) \
	((struct kernel_list){.lock = PTHREAD_MUTEX_INITIALIZER, .given = (symbols), .fd = -1})
void kernel_list_release(struct kernel_list *list);

/* Borrowed; nobody may change it meanwhile. */
struct name_task {
	/* Without the kernel's symbols; rvas: of all parts of the module, NULL if this is all. */
	struct symbolizer_input input;
	struct kernel_list *kernel;
	struct name_cache *cache; /* NULL: none */
	const struct place *places; /* in order of their addresses */
	size_t count;
	/* Asked between two batches; true stops, and the rest stays unnamed. */
	bool (*should_stop)(void *ctx);
	void *ctx;
};

/* Fills in `names`, which then need no symbolizer any more. */
void name_places(const struct name_task *task, struct answers *names);

#endif
