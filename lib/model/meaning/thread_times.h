/* SPDX-License-Identifier: MIT */
/*
 * The times in which a thread ran or waited, estimated from its samples with the precision of an
 * interval. Short waits that were not sampled are missing.
 */
#pragma once

#include "lib/model/meaning/categories.h"
#include "lib/model/tables/profile.h"

struct thread_time {
	uint64_t start, end; /* start < end */
	stack_id wait; /* stack of the wait; NO_STACK: the thread ran */
	int reason; /* enum idle_subcategory of a wait; -1: unknown */
	uint16_t cpu; /* NO_CPU: unknown, or a wait */
};

typedef void thread_time_fn(void *ctx, const struct thread_time *time);

/* Passes the times of the thread in their order; they do not overlap. */
void thread_times_each(const struct profile *p, const struct profile_thread *thread,
		       thread_time_fn *take, void *ctx);

/* Sums of the time that threads waited, by reason. */

/* Weights, in ticks of the clock during the waits. */
struct wait_sums {
	uint64_t rows;
	uint64_t idle, runnable, blocked;
	uint64_t blocked_by[IDLE_SUBCATEGORY_COUNT];
};

/*
 * Returns the reason of a wait, an enum idle_subcategory; -1 if the sample is not a wait, or its
 * reason is unknown.
 */
int wait_reason(const struct profile *p, const struct sample *sample);
void wait_sums_add(struct wait_sums *sums, const struct profile *p, const struct sample *sample);
struct wait_sums wait_sums_of(const struct profile *p);
/* Returns the CPU time of all threads, ns. */
uint64_t wait_sums_ran(const struct profile *p);
