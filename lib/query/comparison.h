/* SPDX-License-Identifier: MIT */
/*
 * Compares the runs of two sides. Whether B is slower: by the CPU or wall time of whole runs. In
 * which rows: by the samples' shares of functions or other keys.
 */
#ifndef PROF_LIB_QUERY_COMPARISON_H
#define PROF_LIB_QUERY_COMPARISON_H

#include "lib/query/intervals.h"
#include "lib/query/keys.h"
#include "lib/query/runs.h"
#include "lib/query/shares.h"

/* Error probability of all statements about a comparison together. */
#define COMPARISON_ALPHA 0.05
/*
 * Rows below this share of both sides together are not compared: every further row costs
 * statistical power.
 */
#define COMPARISON_MIN_SHARE 0.005

struct comparison_options {
	struct query_filter filter; /* times count from the start of each run */
	enum query_by by;
	bool is_wall; /* compares wall time; else CPU time */
	/*
	 * Assumed variation between runs if there is one run a side, 0.03 for 3 %; negative:
	 * unknown.
	 */
	double noise;
};

enum comparison_mark {
	COMPARISON_PLAIN,
	COMPARISON_NEW, /* only in B */
	COMPARISON_GONE, /* only in A */
	COMPARISON_INLINED, /* in B only inlined into callers */
	COMPARISON_OUTLINED, /* in A only inlined into callers */
	COMPARISON_MARK_COUNT,
};

/* "", "new", … */
extern const char *const comparison_mark_names[COMPARISON_MARK_COUNT];

struct comparison_row {
	/* Without suffixes of the compiler; followed by a line or address. Owned. */
	char *name;
	char *place; /* see build_name.h; owned; NULL: none, or different on each side */
	struct share_row share; /* weights belong to the comparison */
	double ms[SIDE_COUNT]; /* mean per run */
	struct interval difference; /* of ms */
	struct interval ratio; /* of ms, minus 1 */
	enum comparison_mark mark;
	/*
	 * True if the share differs after adjustment for all rows, and the time alone differs in
	 * the same direction.
	 */
	bool differs;
};

struct comparison {
	size_t runs[SIDE_COUNT];
	bool is_paired; /* runs were interleaved; otherwise drift is possible */
	bool is_single; /* one run a side */
	bool is_by_samples; /* CPU times are estimated from samples, for lack of others */
	uint32_t looks;
	double alpha; /* of each statement: COMPARISON_ALPHA divided by the number of looks */
	double *times[SIDE_COUNT]; /* ms, by run: the metric compared */
	double *cpu_ms[SIDE_COUNT]; /* by run */
	double *all_weights[SIDE_COUNT]; /* by run: weight of selected samples */
	double sample_weight; /* minimum weight of a sample */
	double *row_weights; /* weights of rows: a row's of A, then of B */
	double ms[SIDE_COUNT]; /* means of the times */
	double cpu_error; /* standard error of the CPU time's log ratio */
	struct interval total; /* relative increase of the time from A to B */
	struct share_prior prior;
	VEC(struct comparison_row)
	rows; /* differing rows first, then by difference in ms */
	size_t left_out; /* number of rows below the minimum share */
};

/*
 * Both sides need a run; runs may be reordered. -ENODATA if a run has no selected sample; else as
 * query_select().
 */
int comparison_make(struct comparison *c, struct query_runs *a, struct query_runs *b,
		    const struct comparison_options *options, struct error *err);
void comparison_release(struct comparison *c);
/* Returns the row of that name, or NULL if it is below the minimum share or does not exist. */
const struct comparison_row *comparison_find(const struct comparison *c, const char *name);

#endif
