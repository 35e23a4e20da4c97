/* SPDX-License-Identifier: MIT */
/* Activity of a thread over time: CPU time, waits, and functions on the stack. */
#pragma once

#include "lib/query/keys.h"
#include "lib/query/select.h"

/* The activity of a thread over time: CPU time by category, and waits by kind. */

struct query_timeline {
	uint64_t from, until; /* ns since the profile's start; from < until */
	uint32_t bins; /* number of equal parts */
	uint32_t kinds; /* see query_timeline_kinds() */
	/* Time of each kind in each bin, in ns, bin by bin; weights if the event is not the clock.
	 */
	float *times; /* owned */
};

/*
 * Returns the number of kinds: kinds of waits (enum query_wait, without times for QUERY_RUNS), then
 * categories.
 */
uint32_t query_timeline_kinds(const struct query *q);
/*
 * Fills in the times of a thread, or of all threads for NO_THREAD, regardless of the query's
 * selection, except for its event. A row of the clock covers the time since the previous row,
 * limited by its weight; other rows are summed up where they are. Set the other members first;
 * `times` is newly allocated.
 */
void query_timeline_make(struct query_timeline *t, const struct query *q, thread_id thread);
/*
 * Returns a counter's values in the timeline's bins, which the caller frees: the maximum in each
 * bin for levels, the amount per second for rates.
 */
double *query_timeline_counter(const struct query_timeline *t, const struct profile *p,
			       counter_id id);
/* Kinds of markers in a bin. */
enum {
	TIMELINE_MARK = 1 << 0, /* any marker on the thread's track except a wait */
	TIMELINE_LOSS = 1 << 1,
	TIMELINE_PAUSE = 1 << 2, /* pause of the recording */
};

/*
 * Returns the kinds of markers in the timeline's bins, which the caller frees. NO_THREAD: all
 * threads.
 */
uint8_t *query_timeline_marks(const struct query_timeline *t, const struct profile *p,
			      thread_id thread);
void query_timeline_release(struct query_timeline *t);

/* The functions on the stack of a thread over time. */

/* A function that stayed on the stack from one time to another, ns since the profile's start. */
struct stack_span {
	uint32_t key, depth; /* depth: 0 for the outermost function */
	stack_id stack, padding; /* any one of the stacks that end in it */
	uint64_t from, until;
};

struct stack_chart {
	VEC(struct stack_span) spans; /* by end */
	uint32_t depth; /* of the deepest stack */
};

struct stack_chart_options {
	thread_id thread;
	uint64_t from, until; /* ns since the profile's start; from < until */
	uint32_t bins; /* of samples in the same bin, the longest counts */
	const struct query_keys *keys; /* of stacks */
};

/*
 * Adds the selected samples of the thread. A row of the clock covers the time since the row before,
 * limited by its weight; a row of another event, one bin. Returns the same as query_select().
 */
int stack_chart_make(struct stack_chart *c, const struct profile *p,
		     const struct query_filter *filter, const struct stack_chart_options *options,
		     struct error *err);
void stack_chart_release(struct stack_chart *c);
