/* SPDX-License-Identifier: MIT */
/* The functions on the stack of a thread over time. */
#pragma once

#include "lib/query/keys.h"

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
