/* SPDX-License-Identifier: MIT */
/*
 * Threads that compile unwind tables, on all CPUs, so that files delay neither the draining of the
 * rings nor, where they are large, each other.
 */
#ifndef PROF_LIB_UNWIND_NATIVE_TABLE_POOL_H
#define PROF_LIB_UNWIND_NATIVE_TABLE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/unwind/native/rule_store.h"
#include "lib/unwind/unwind_table.h"

struct table_pool;

/* A compiled table, or an empty one where there was nothing to compile. */
struct table_result {
	uint32_t module_id;
	struct unwind_table table;
};

/*
 * The rules that a table needs are in the store, which is borrowed, before the table is done.
 * event_fd, an eventfd(2) that is borrowed, is readable from when there are results until one is
 * taken; -1: nobody is told. Threads are started when there is something to do. NULL with errno set
 * where not even one can be.
 */
struct table_pool *table_pool_new(struct rule_store *rules, int event_fd);
/* Waits for the files at hand. NULL is fine. */
void table_pool_free(struct table_pool *p);
/* Files that wait, and results: more could leave no descriptors, or memory, for others. */
#define TABLE_POOL_MAX 256

/* How many more may be submitted now. */
size_t table_pool_room(struct table_pool *p);
/* Takes the descriptor over. False: too many wait already, it remains the caller's. */
bool table_pool_submit(struct table_pool *p, uint32_t module_id, int fd);
/* Until no more than so many are not done, or for so long; true: it is so. */
bool table_pool_wait(struct table_pool *p, size_t count, uint64_t max_ns);
/* The next result, the caller's to release; false: none now. */
bool table_pool_next(struct table_pool *p, struct table_result *result);
/* Has everything that was submitted been given as a result? */
bool table_pool_is_empty(struct table_pool *p);

#endif
