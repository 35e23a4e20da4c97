/* SPDX-License-Identifier: MIT */
/* Decides whether B is slower than A by a margin or more. */
#pragma once

#include "lib/query/comparison.h"
#include "lib/query/runs.h"

/* Reasons not to compare two sides, and differences other than the program. */

struct comparable {
	VEC(char *) refusals; /* reasons that rule out a comparison; owned */
	VEC(char *) warnings; /* possible causes of a difference besides the change; owned */
};

/* Checks the profiles of all runs; each side has at least one. */
void comparable_check(struct comparable *c, const struct query_runs *a, const struct query_runs *b);
void comparable_release(struct comparable *c);

/* In ascending order of severity: the worst one counts. */
enum verdict {
	VERDICT_PASSED, /* B is not slower by the margin */
	VERDICT_INCONCLUSIVE, /* the runs are inconclusive */
	VERDICT_REGRESSION, /* B is slower, by an estimate of at least the margin */
	VERDICT_COUNT,
};

/* "passed", … */
extern const char *const verdict_names[VERDICT_COUNT];

enum gate_kind {
	GATE_TOTAL, /* whole runs */
	GATE_ANY, /* every row without its own rule */
	GATE_NAME, /* one row */
};

struct gate_rule {
	enum gate_kind kind;
	char *name; /* name of the row for GATE_NAME; owned */
	double margin; /* 0.02 means 2 % of the time in A */
};

struct gate {
	VEC(struct gate_rule) rules; /* empty: total, with a margin of 0 */
};

struct gate_result {
	const struct gate_rule *rule; /* NULL: implicit rule of a gate without rules */
	enum verdict verdict;
	/* The row that decides; NULL for whole runs, or if no row decides. */
	const struct comparison_row *row;
	/* Number of runs per side, or pairs, that would decide; 0: unknown, or too many. */
	size_t more_runs;
};

struct gate_results {
	VEC(struct gate_result) rows;
	enum verdict verdict; /* worst verdict of all rules */
};

void gate_release(struct gate *g);
/*
 * Adds the rules of a text such as "total=2%,parse_header=10%,any=5%". Returns -EINVAL with err for
 * an invalid text.
 */
int gate_parse(struct gate *g, const char *text, struct error *err);
/* Results borrow the comparison's rows and the rules. */
void gate_judge(const struct gate *g, const struct comparison *c, struct gate_results *results);
void gate_results_release(struct gate_results *results);
