/* SPDX-License-Identifier: MIT */
/*
 * Queries on a profile: select samples and frames, and sum the weight of each stack. Tables and
 * trees are made from the result. The profile is never modified.
 */
#pragma once

#include "lib/model/meaning/categories.h"
#include "lib/model/tables/profile.h"

/* Allocations by the threads that made them; profiles keep them with their main thread. */

struct allocator_row {
	thread_id thread; /* thread that made the allocation; the main thread if it is unknown */
	const struct allocation *allocation; /* row of the profile */
};

/* A zeroed struct is empty. */
struct allocators {
	VEC(struct allocator_row) rows; /* in ascending order of thread and time */
};

/* Returns the thread's first row, or where it would be; NULL: there is none at all. */
const struct allocator_row *allocators_first(const struct allocators *a, thread_id thread);
/* The rows of a thread: for (const struct allocator_row *row …). */
#define allocators_for_each(a, id, row) \
	for (const struct allocator_row *row = allocators_first(a, id); \
	     row && row < (a)->rows.items + (a)->rows.count && row->thread == (id); row++)

/*
 * All conditions must hold. Globs match as in a shell. Expressions are POSIX extended and match any
 * part of a function's name. NULL: no condition.
 */
struct query_filter {
	/*
	 * Category of a language, in lower case and without dots: the innermost function of any
	 * such language in the stack is of this one. "native": there is none.
	 */
	const char *language;
	/*
	 * Glob for the name, the title (titles.h) or the id: "123", or "123.1" if the pid was
	 * reused.
	 */
	const char *process, *thread;
	const bool *threads; /* by thread_id: selected threads; NULL: all */
	const char *event; /* event name; NULL: the clock, otherwise the first event */
	/* Glob for the innermost frame's category: "Kernel" or "Idle: Lock". */
	const char *category;
	uint64_t from, until; /* ns since the profile's start, [from, until) */
	const char *during; /* glob: keep samples taken during a matching marker of any thread */
	/* keep, or drop, samples with a matching function in the stack */
	const char *focus, *ignore;
	const char *hide; /* functions to hide in stacks; their callers get the weight */
	const char *root; /* outermost function of stacks */
	bool no_kernel; /* hide kernel frames */
	bool own; /* hide frames of code that is not the user's, but not reasons of waits */
	bool fold_recursion; /* hide frames with the same function as their shown caller */
	/*
	 * Keep samples taken while that many of the recording's threads ran, and no waits. 0: any
	 * number.
	 */
	uint32_t parallel_min, parallel_max;
	bool latency; /* also sum up latencies; keeps no waits */
	bool all_events; /* keep samples of all events, which mixes units of weight */
	/* Keep samples of waits; otherwise only those in the categories of `category`. */
	bool include_idle;
	bool is_given; /* the filter was set by an option; does not affect the selection */
};

/* Kinds of waits, by the subcategory of a sample's innermost frame. */
enum query_wait {
	QUERY_RUNS, /* running, not waiting */
	QUERY_IDLE, /* waiting for work (a sleep, a poll), or an idle CPU */
	QUERY_BLOCKED, /* waiting for a lock, a disk or a process */
	QUERY_RUNNABLE, /* waiting for a CPU */
	QUERY_WAIT_COUNT,
};

#define QUERY_FILTER_ALL ((struct query_filter){.until = UINT64_MAX})

/*
 * Allocations are selected like events, by the names of enum allocation_sum. Their numbers are this
 * base plus the enum, which no event has.
 */
#define QUERY_ALLOCATIONS 250u

/* Unit of latencies: weights divided by up to 8 threads are exact. */
#define LATENCY_UNIT 840u

/* A selection. Arrays are owned. */
struct query {
	const struct profile *profile;
	uint8_t event;
	/* By stack_id, in the same order: the next outer shown frame, or NO_STACK. */
	stack_id *parents;
	bool *is_shown; /* by stack_id: the stack is part of a shown stack */
	struct frame_category *categories; /* by stack_id; never CATEGORY_OF_CALLER */
	uint8_t *stack_waits; /* by stack_id; see query_wait_of() */
	uint64_t *weights; /* by stack_id: weight of samples whose innermost shown frame is this */
	uint64_t *thread_weights; /* by thread_id */
	struct allocators allocators; /* empty unless the event is one of allocations */
	uint64_t no_frame; /* weight of samples without a shown frame */
	/*
	 * Latencies, in 1/LATENCY_UNIT: weights divided by the number of threads that ran at the
	 * time, by stack_id and by thread_id. NULL unless the filter requires them.
	 */
	uint64_t *latencies, *thread_latencies;
	uint64_t no_frame_latency, latency; /* as `no_frame` and `weight` */
	VEC(uint64_t) by_parallelism; /* weight by number of threads; only with latencies */
	uint64_t weight; /* weight of all selected samples, the 100 % of shares */
	double squares; /* sum of the squares of the samples' weights */
	uint64_t samples; /* number of samples with nonzero weight */
	uint64_t cpu_ns; /* CPU time of these samples */
	/* Weights of waits that meet all other conditions, kept or not. */
	uint64_t waits[QUERY_WAIT_COUNT];
};

/*
 * Returns -EINVAL for an invalid expression, or -ENOENT if the profile has no such event or marker.
 */
int query_select(struct query *q, const struct profile *p, const struct query_filter *filter,
		 struct error *err);
/*
 * Called for each selected sample, thread by thread, with its innermost shown frame or NO_STACK;
 * also for rows of weight 0 with CPU time. The query's stacks are complete by then, but not its
 * weights.
 */
typedef void query_sample_fn(void *ctx, const struct query *q, thread_id thread,
			     const struct sample *sample, stack_id shown);
/* Does the same, and calls `visit` for each sample. */
int query_select_each(struct query *q, const struct profile *p, const struct query_filter *filter,
		      query_sample_fn *visit, void *ctx, struct error *err);
void query_release(struct query *q);

/* Returns an allocation as a sample of the query's event; of weight 0 if it is not one of its sum.
 */
struct sample query_allocation_sample(const struct query *q, const struct allocation *row);
/* Returns the kind of wait of samples with that innermost frame. */
enum query_wait query_wait_of(const struct query *q, stack_id stack);
/*
 * Returns, by thread_id, whether a thread meets the conditions on process and thread; the caller
 * frees it.
 */
bool *query_select_threads(const struct profile *p, const struct query_filter *filter);
/*
 * Returns the enum language_id of "python", or of the category "Python": "net" and ".NET" are one.
 * LANGUAGE_NONE for other names.
 */
uint8_t query_language(const char *name);
/* Appends the category for display: "Kernel: Files", or "Idle" without a subcategory. */
void query_category_name(const struct profile *p, struct frame_category category,
			 struct strbuf *name);
/* Returns the event's name, "clock" for the clock, "" if unknown. */
const char *query_event_name(const struct profile *p, uint8_t event);
/* Returns the number of such an event in another profile, where it is added if new; 0: no room. */
uint8_t query_copy_event(struct profile *into, const struct profile *p, uint8_t event);
/* Returns the quantity that weights measure, and the size of their unit in bytes or ns. */
enum measure query_measure(const struct query *q, double *size);
/* Returns the unit's name: "ticks", "count", "bytes". */
const char *query_unit_name(const struct query *q);
/* Appends a weight for display: "4,476", "25.4 MB", "1.250 s". */
void query_weight_text(const struct query *q, uint64_t weight, struct strbuf *out);
/*
 * Returns half the width of a weight's 95 % confidence interval, in the same unit: the longer arm
 * of Wilson's interval. Each tick counts as a sample; for other events, each row does, or as many
 * as its weight has periods. 0 if weights are not estimated from samples.
 */
double query_error(const struct query *q, uint64_t weight);

/*
 * Parallelism: how many of the recording's threads run at a time. A sample's share of the wall time
 * is its weight divided by the parallelism, its latency.
 */

/* A zeroed struct is empty: nothing runs. */
struct parallelism {
	uint64_t from, bin_ns; /* CLOCK_MONOTONIC start of the first bin; length of each */
	size_t bins;
	uint32_t *levels; /* by bin: mean number of running threads, in fractions */
};

/*
 * Finds out when threads ran, whether they are selected or not: from the clock's samples, or from
 * those of the selected event if there are none. The query's categories must be complete. -ENODATA
 * with err if the profile has no times.
 */
int parallelism_find(struct parallelism *x, const struct query *q, struct error *err);
/* Returns the number of threads that run at that time, to the nearest; at least 1. */
uint32_t parallelism_at(const struct parallelism *x, uint64_t time);
void parallelism_release(struct parallelism *x);
