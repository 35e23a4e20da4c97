/* SPDX-License-Identifier: MIT */
/* Comparison of two sides, with names of functions that stay equal between builds. */
#pragma once

#include "lib/base/base.h"
#include "lib/query/keys.h"
#include "lib/query/runs.h"
#include "lib/query/statistics.h"

/* Names and places of functions without the parts that change from build to build. */

/*
 * Returns the size of the part of a name that is stable across builds: "parse" of
 * "parse.constprop.0.cold", "parse.llvm.123", "parse [clone .isra.0]", "parse::h0123456789abcdef".
 * Never 0 for a nonempty name.
 */
size_t build_name_size(const char *name);
/*
 * Returns the place that distinguishes functions of the same name: the module, or the name of a
 * script, without its folder. Points into either; "" if both are unknown.
 */
const char *build_place(const char *module, const char *file);

/*
 * Compares the runs of two sides. CPU or wall time of whole runs decides whether B is slower;
 * shares of samples by function or another key show in which rows. Amounts of other events are
 * compared as they are, in whole runs and in rows.
 */

/* Error probability of all statements about a comparison together. */
#define COMPARISON_ALPHA 0.05
/*
 * Rows below this share of both sides together are not compared: every further row costs
 * statistical power.
 */
#define COMPARISON_MIN_SHARE 0.005

struct comparison_options {
	struct query_filter filter; /* times are relative to the start of each run */
	enum query_by by;
	bool is_wall; /* compare wall time; otherwise CPU time, or amounts of another event */
	bool is_rate; /* compare them per second of wall time */
	/*
	 * Assumed variation between runs if there is one run per side, 0.03 for 3 %; negative:
	 * unknown.
	 */
	double noise;
};

enum comparison_mark {
	COMPARISON_PLAIN,
	COMPARISON_NEW, /* occurs only in B */
	COMPARISON_GONE, /* occurs only in A */
	COMPARISON_INLINED, /* in B only inlined into callers */
	COMPARISON_OUTLINED, /* in A only inlined into callers */
	COMPARISON_MARK_COUNT,
};

/* "", "new", … */
extern const char *const comparison_mark_names[COMPARISON_MARK_COUNT];

struct comparison_row {
	/* Name without compiler suffixes, followed by a line or address; owned. */
	char *name;
	char *place; /* place as in comparison.h, owned; NULL: unknown, or different on each side */
	struct share_row share; /* its weights belong to the comparison */
	double ms[SIDE_COUNT]; /* mean per run, or amount */
	struct interval difference; /* difference in ms, or in amount */
	struct interval ratio; /* ratio of times or amounts, minus 1 */
	enum comparison_mark mark;
	/*
	 * True if the share differs after adjustment for all rows, and the time alone differs in
	 * the same direction; for amounts, if the amount does.
	 */
	bool differs;
};

struct comparison {
	size_t runs[SIDE_COUNT];
	bool is_paired; /* runs were interleaved; otherwise drift is possible */
	bool is_single; /* each side has a single run */
	bool is_unrepeated; /* and their noise is unknown */
	const char *event; /* event whose amounts are compared, borrowed; NULL: times are */
	enum measure measure; /* amounts are counts, bytes or ns */
	bool is_rate; /* times and amounts are those of a second */
	bool is_by_samples; /* no CPU times are recorded, so they are estimated from samples */
	uint32_t looks;
	double alpha; /* error of each statement: COMPARISON_ALPHA divided by the number of looks */
	double *times[SIDE_COUNT]; /* compared time of each run, ms, or amount */
	double *cpu_ms[SIDE_COUNT]; /* CPU time of each run, or amount */
	double *all_weights[SIDE_COUNT]; /* weight of the selected samples, by run */
	double sample_weight; /* weight of one sample, at least; 0: amounts are measured */
	double *row_weights; /* weights in A, then in B, for each row */
	double ms[SIDE_COUNT]; /* mean times */
	double cpu_error; /* standard error of the log ratio of CPU times */
	struct interval total; /* relative increase of the time from A to B */
	struct share_prior prior;
	VEC(struct comparison_row)
	rows; /* differing rows first, then by difference in ms */
	size_t left_out; /* number of rows below the minimum share */
};

/*
 * Each side needs a run; runs may be reordered. Returns -ENODATA if a run has no selected sample;
 * otherwise the same errors as query_select().
 */
int comparison_make(struct comparison *c, struct query_runs *a, struct query_runs *b,
		    const struct comparison_options *options, struct error *err);
void comparison_release(struct comparison *c);
/* Returns the row with that name, or NULL if there is none above the minimum share. */
const struct comparison_row *comparison_find(const struct comparison *c, const char *name);
