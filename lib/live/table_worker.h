/* SPDX-License-Identifier: MIT */
/*
 * A thread that compiles unwind tables, so that a large file delays neither the draining of the
 * rings nor, for long, the other files.
 */
#ifndef PROF_LIB_LIVE_TABLE_WORKER_H
#define PROF_LIB_LIVE_TABLE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/unwind/table.h"

struct table_worker;

/* A compiled table, or an empty one where there was nothing to compile. */
struct table_result {
	uint32_t module_id;
	struct unwind_table table;
};

/*
 * `rules` has room for UNWIND_RULES_MAX; the thread stores what a table needs before it is done.
 * The rules with fixed numbers apart, it uses `count` of them from `first` on. Each result is
 * announced by adding one to event_fd, an eventfd(2) that is borrowed.
 */
struct table_worker *table_worker_new(struct unwind_rule *rules, uint32_t first, uint32_t count,
				      int event_fd);
/* Waits for the file at hand. NULL is fine. */
void table_worker_free(struct table_worker *w);
/* Descriptors that wait; more than that could leave none for others. */
#define TABLE_WORKER_JOBS_MAX 256

/*
 * Takes the descriptor over. Files are done in order. False: too many wait already, the descriptor
 * remains the caller's.
 */
bool table_worker_submit(struct table_worker *w, uint32_t module_id, int fd);
/* Until all that was submitted is done. */
void table_worker_wait(struct table_worker *w);
/* The next result, the caller's to release; false: none now. */
bool table_worker_next(struct table_worker *w, struct table_result *result);

#endif
