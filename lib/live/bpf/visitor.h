/* SPDX-License-Identifier: MIT */
/*
 * A thread that periodically walks the threads of tracked processes, and visits those that are due.
 * A visit may block on memory of its process, even forever, and must not delay anything else.
 */
#pragma once

#include "lib/base/base.h"

/* Reads the output of an iterator over the machine's tasks. */

struct bpf_program;

typedef void task_row_fn(void *ctx, const void *row);

/* Passes each row of `size` bytes, at most 256, to `fn`. Returns 0 or a negative errno. */
int task_iterator_read(const struct bpf_program *program, size_t size, task_row_fn *fn, void *ctx);

/*
 * Maximum number of processes to walk individually: more would cost as much as walking the whole
 * machine.
 */
#define VISITOR_PROCESSES_MAX 64
/* Minimum time between two passes. */
#define VISITOR_PAUSE_NS 50000000ull

struct visitor;

/* CPU time of a pass, ns. */
struct pass_cost {
	uint64_t search_ns; /* time of the search, without visits */
	uint64_t visit_ns;
};

/*
 * Walks the threads of these processes; count 0: of the whole machine. The last pass comes after
 * visitor_finish(). Called in the visitor's thread.
 */
typedef struct pass_cost visitor_pass_fn(void *ctx, const uint32_t *pids, size_t count,
					 bool is_last);

/*
 * Starts the thread, whose first pass comes after a pause. Returns NULL with errno set on failure.
 */
struct visitor *visitor_start(visitor_pass_fn *pass, void *ctx);
/* Sets the processes to walk: at most VISITOR_PROCESSES_MAX; 0: all of the machine. */
void visitor_set_processes(struct visitor *v, const uint32_t *pids, size_t count);
/* Requests the last pass, immediately. */
void visitor_finish(struct visitor *v);
/* Waits at most max_ns for the end of the last pass. True if it has ended. */
bool visitor_wait(struct visitor *v, uint64_t max_ns);
/*
 * Waits at most max_ns for the last pass, then frees the visitor. Returns false if a visit is still
 * blocked; the thread then keeps using the context, and frees the visitor later. Accepts NULL.
 */
bool visitor_free(struct visitor *v, uint64_t max_ns);

/*
 * Returns ns until the next pass. Searching takes 0.2 % of a CPU at most. Visits take 2 %, but
 * never delay the next pass by more than a second: each wait is visited once.
 */
uint64_t visitor_pause(const struct pass_cost *cost);
