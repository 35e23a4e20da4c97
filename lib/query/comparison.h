/* SPDX-License-Identifier: MIT */
/*
 * Compares the runs of two sides. Is B slower: by the CPU or wall time of whole runs. Where: by the
 * shares that functions, or other rows, have of the samples.
 */
#ifndef PROF_LIB_QUERY_COMPARISON_H
#define PROF_LIB_QUERY_COMPARISON_H

#include "lib/query/intervals.h"
#include "lib/query/keys.h"
#include "lib/query/runs.h"
#include "lib/query/shares.h"

/* The error of all that is said of a comparison. */
#define COMPARISON_ALPHA 0.05
/*
 * Rows with a smaller share of both sides together are not compared: the more rows, the less is
 * said of each.
 */
#define COMPARISON_MIN_SHARE 0.005

struct comparison_options {
	struct query_filter filter; /* times count from the start of each run */
	enum query_by by;
	bool is_wall; /* "slower" is by wall time; else by CPU time */
	/* With one run a side: how much runs are assumed to vary, 0.03 for 3 %; negative: unknown.
	 */
	double noise;
};

enum comparison_mark {
	COMPARISON_PLAIN,
	COMPARISON_NEW, /* B alone has it */
	COMPARISON_GONE, /* A alone has it */
	COMPARISON_INLINED, /* in B it occurs only within its callers */
	COMPARISON_OUTLINED, /* in A */
	COMPARISON_MARK_COUNT,
};

/* "", "new", … */
extern const char *const comparison_mark_names[COMPARISON_MARK_COUNT];

struct comparison_row {
	/* Without what a compiler adds; a line or address comes after it. Owned. */
	char *name;
	char *place; /* see build_name.h; owned; NULL: none, or another on each side */
	struct share_row share; /* weights are the comparison's */
	double ms[SIDE_COUNT]; /* of a run, on average */
	struct interval difference; /* of these */
	struct interval ratio; /* of these, minus 1 */
	enum comparison_mark mark;
	/* The share differs whatever the other rows, and the time by itself in the same direction.
	 */
	bool differs;
};

struct comparison {
	size_t runs[SIDE_COUNT];
	bool is_paired; /* runs were interleaved: else drift is not excluded */
	bool is_single; /* one run a side */
	bool is_by_samples; /* CPU times are those that samples stand for: nothing else is known */
	uint32_t looks;
	double alpha; /* of each statement: COMPARISON_ALPHA divided by the looks */
	double *times[SIDE_COUNT]; /* ms, by run: the metric of "slower" */
	double *cpu_ms[SIDE_COUNT]; /* by run */
	double *all_weights[SIDE_COUNT]; /* by run: samples that count */
	double sample_weight; /* least number that a row stands for */
	double *row_weights; /* those of rows: a row's of A, then of B */
	double ms[SIDE_COUNT]; /* means of the times */
	double cpu_error; /* of the CPU time's log ratio */
	struct interval total; /* share by which B takes longer */
	struct share_prior prior;
	VEC(struct comparison_row)
	rows; /* those that differ first, then by their difference in ms */
	size_t left_out; /* rows below the least share */
};

/*
 * Sides have a run each, or more; their order may change. -ENODATA where a run has no sample that
 * counts; else as query_select().
 */
int comparison_make(struct comparison *c, struct query_runs *a, struct query_runs *b,
		    const struct comparison_options *options, struct error *err);
void comparison_release(struct comparison *c);
/* The row of that name, or NULL: below the least share, or not there at all. */
const struct comparison_row *comparison_find(const struct comparison *c, const char *name);

#endif
