/* SPDX-License-Identifier: MIT */
/* The doings of a thread over time: CPU time by category, and waits by kind. */
#ifndef PROF_LIB_QUERY_TIMELINE_H
#define PROF_LIB_QUERY_TIMELINE_H

#include "lib/query/select.h"

struct query_timeline {
	uint64_t from, until; /* ns since the profile's start; from < until */
	uint32_t bins; /* parts of that time, of equal length */
	uint32_t kinds; /* see query_timeline_kinds() */
	/* Time of each kind in each bin, ns: those of the first bin, then of the next. */
	float *times; /* owned */
};

/*
 * Returns the number of kinds: a kind of wait each (enum query_wait, of which QUERY_RUNS is
 * empty), then the categories.
 */
uint32_t query_timeline_kinds(const struct query *q);
/*
 * Fills in the times of a thread, NO_THREAD: the sums of all, whatever the query selects; its event
 * is the clock. A row stands for the time since the row before, as far as its weight reaches. Set
 * the other members before; `times` is made anew.
 */
void query_timeline_make(struct query_timeline *t, const struct query *q, thread_id thread);
/*
 * Returns a counter's values in the timeline's bins, to be freed: levels are the highest of each
 * bin, rates the amount per second.
 */
double *query_timeline_counter(const struct query_timeline *t, const struct profile *p,
			       counter_id id);
/* Kinds of markers in a bin. */
enum {
	TIMELINE_MARK = 1 << 0, /* any that belongs to the thread's track, and is no wait */
	TIMELINE_LOSS = 1 << 1,
	TIMELINE_PAUSE = 1 << 2, /* of the recording */
};

/* Returns the kinds of markers in the timeline's bins, to be freed. NO_THREAD: those of all. */
uint8_t *query_timeline_marks(const struct query_timeline *t, const struct profile *p,
			      thread_id thread);
void query_timeline_release(struct query_timeline *t);

#endif
