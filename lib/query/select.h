/* SPDX-License-Identifier: MIT */
/*
 * Questions to a profile: which of its samples and frames count, and how much each stack then
 * weighs. Tables and trees are made of that. Nothing here changes the profile.
 */
#ifndef PROF_LIB_QUERY_SELECT_H
#define PROF_LIB_QUERY_SELECT_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/profile/categories.h"
#include "lib/profile/profile.h"

/*
 * All that is given must be met. Globs are as in a shell; expressions are POSIX extended ones, of
 * which any part of a function's name may be a match. NULL: everything.
 */
struct query_filter {
	const char *process, *thread; /* globs: the name, or "123", of a pid used again "123.1" */
	const char *event; /* its name; NULL: the clock, or the first event where there is none */
	const char *category; /* a glob: "Kernel" or "Kernel: Files", of the innermost frame */
	uint64_t from, until; /* ns since the profile's start, [from, until) */
	const char *focus, *ignore; /* samples with, or without, such a function in their stack */
	const char *hide; /* functions that are left out of stacks: callers have their weight */
	const char *root; /* the name of the function with which stacks begin */
	bool no_kernel; /* hide the kernel's frames */
	bool include_idle; /* samples of the category "Idle", too */
};

#define QUERY_FILTER_ALL ((struct query_filter){.until = UINT64_MAX})

/* The selection. Arrays are owned. */
struct query {
	const struct profile *profile;
	uint8_t event;
	/* By stack_id, which keep their order: the frame that shows as its caller, or NO_STACK. */
	stack_id *parents;
	bool *is_shown; /* by stack_id: others are no part of any stack here */
	struct frame_category *categories; /* by stack_id, never CATEGORY_OF_CALLER */
	uint64_t *weights; /* by stack_id: samples of which that is the innermost shown frame */
	uint64_t *thread_weights; /* by thread_id */
	uint64_t no_frame; /* weight of the samples without a shown frame */
	uint64_t weight; /* of all samples: what shares are of */
	double squares; /* of the samples' weights, summed up */
	uint64_t samples; /* of any weight */
	uint64_t cpu_ns; /* CPU time that they say was used */
};

/* -EINVAL where an expression is none, -ENOENT where the profile has no such event. */
int query_select(struct query *q, const struct profile *p, const struct query_filter *filter,
		 struct error *err);
void query_release(struct query *q);

/* The frame's category as people are shown it: "Kernel: Files", or "Idle" where that is all. */
void query_category_name(const struct profile *p, struct frame_category category,
			 struct strbuf *name);
/* "", or what an event is called; "clock" for the clock. */
const char *query_event_name(const struct profile *p, uint8_t event);
/*
 * Half of the 95 % confidence interval of a weight, in the same unit: Wilson's, the longer of its
 * arms. A tick is a sample by itself; of other events, rows are.
 */
double query_error(const struct query *q, uint64_t weight);

#endif
