/* SPDX-License-Identifier: MIT */
/*
 * Queries on a profile: which samples and frames count, and what each stack then weighs. Tables and
 * trees are made of the result. The profile is never changed.
 */
#ifndef PROF_LIB_QUERY_SELECT_H
#define PROF_LIB_QUERY_SELECT_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/tables/profile.h"

/*
 * All conditions must hold. Globs match as in a shell. Expressions are POSIX extended and match any
 * part of a function's name. NULL: no condition.
 */
struct query_filter {
	/* Globs for the name or the id: "123", "123.1" if the pid was used again. */
	const char *process, *thread;
	const bool *threads; /* by thread_id: those that count; NULL: all */
	const char *event; /* name; NULL: the clock, else the first event */
	/* Glob for the innermost frame's category: "Kernel" or "Idle: Lock". */
	const char *category;
	uint64_t from, until; /* ns since the profile's start, [from, until) */
	const char *during; /* a glob: keep samples taken during such a marker of any thread */
	const char *focus, *ignore; /* keep, or drop, samples with such a function in their stack */
	const char *hide; /* functions to leave out of stacks; callers get their weight */
	const char *root; /* function at which stacks begin */
	bool no_kernel; /* hide the kernel's frames */
	bool fold_recursion; /* hide frames of the function that their shown caller is of */
	bool all_events; /* keep samples of all events; weights are then sums of unlike things */
	/* Keep samples of waits; without it, only those of the categories in `category`. */
	bool include_idle;
	bool is_given; /* something was asked for by options; selects nothing itself */
};

/* Kinds of waits, by the subcategory of a sample's innermost frame. */
enum query_wait {
	QUERY_RUNS, /* no wait */
	QUERY_IDLE, /* for work: a sleep, a poll; or an idle CPU */
	QUERY_BLOCKED, /* for a lock, a disk, another process */
	QUERY_RUNNABLE, /* for a CPU */
	QUERY_WAIT_COUNT,
};

#define QUERY_FILTER_ALL ((struct query_filter){.until = UINT64_MAX})

/* A selection. Arrays are owned. */
/*
 * Bytes of allocations are asked for as if they were events, by the names of enum allocation_sum:
 * these numbers plus that. No event has such a number.
 */
#define QUERY_ALLOCATIONS 250u

struct query {
	const struct profile *profile;
	uint8_t event;
	/* By stack_id, in the same order: the next outer frame that is shown, or NO_STACK. */
	stack_id *parents;
	bool *is_shown; /* by stack_id: false means it is in no stack shown */
	struct frame_category *categories; /* by stack_id, never CATEGORY_OF_CALLER */
	uint64_t *weights; /* by stack_id: weight of samples whose innermost shown frame it is */
	uint64_t *thread_weights; /* by thread_id */
	uint64_t no_frame; /* weight of the samples without a shown frame */
	uint64_t weight; /* of all samples; the 100 % of shares */
	double squares; /* sum of the squares of the samples' weights */
	uint64_t samples; /* number of samples with any weight */
	uint64_t cpu_ns; /* sum of their CPU time */
	/* Weights of the samples of waits that meet all other conditions, kept or not. */
	uint64_t waits[QUERY_WAIT_COUNT];
};

/* Returns -EINVAL for an invalid expression, -ENOENT if the profile has no such event or marker. */
int query_select(struct query *q, const struct profile *p, const struct query_filter *filter,
		 struct error *err);
/*
 * Called with each sample that counts, thread by thread, and with its innermost shown frame or
 * NO_STACK; also with rows of weight 0 that have CPU time. What the query says of stacks is
 * complete by then, the weights are not.
 */
typedef void query_sample_fn(void *ctx, const struct query *q, thread_id thread,
			     const struct sample *sample, stack_id shown);
/* The same, and visits the samples. */
int query_select_each(struct query *q, const struct profile *p, const struct query_filter *filter,
		      query_sample_fn *visit, void *ctx, struct error *err);
void query_release(struct query *q);

/* Returns what samples with that innermost frame waited for. */
enum query_wait query_wait_of(const struct query *q, stack_id stack);
/* True if the thread meets the conditions on process and thread. */
bool query_selects_thread(const struct profile *p, const struct profile_thread *thread,
			  const struct query_filter *filter);
/* Appends the category for display: "Kernel: Files", or "Idle" if it has no subcategory. */
void query_category_name(const struct profile *p, struct frame_category category,
			 struct strbuf *name);
/* Returns the event's name, "clock" for the clock, "" if unknown. */
const char *query_event_name(const struct profile *p, uint8_t event);
/*
 * Half width of the 95 % confidence interval of a weight, in the same unit: Wilson's interval, the
 * longer arm. Each tick counts as a sample; with other events, each row does.
 */
double query_error(const struct query *q, uint64_t weight);

#endif
