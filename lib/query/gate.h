/* SPDX-License-Identifier: MIT */
/* Judges whether B is slower than A by a margin or more. */
#ifndef PROF_LIB_QUERY_GATE_H
#define PROF_LIB_QUERY_GATE_H

#include "lib/base/vec.h"
#include "lib/query/comparison.h"
#include "lib/query/runs.h"

/* Judges whether two sides can be compared, and what differs besides the program. */

struct comparable {
	VEC(char *) refusals; /* reasons against any comparison; owned */
	VEC(char *) warnings; /* other possible reasons for a difference; owned */
};

/* Looks at the profiles of all runs; sides have one or more. */
void comparable_check(struct comparable *c, const struct query_runs *a, const struct query_runs *b);
void comparable_release(struct comparable *c);

/* In the order in which the worst one counts. */
enum verdict {
	VERDICT_PASSED, /* not slower by the margin */
	VERDICT_INCONCLUSIVE, /* the runs do not tell */
	VERDICT_REGRESSION, /* slower, and by the margin as far as is known */
	VERDICT_COUNT,
};

/* "passed", … */
extern const char *const verdict_names[VERDICT_COUNT];

enum gate_kind {
	GATE_TOTAL, /* whole runs */
	GATE_ANY, /* every row for which there is no rule of its own */
	GATE_NAME, /* one row */
};

struct gate_rule {
	enum gate_kind kind;
	char *name; /* of GATE_NAME; owned */
	double margin; /* 0.02: 2 % of the time that it takes in A */
};

struct gate {
	VEC(struct gate_rule) rules; /* none: total, with a margin of 0 */
};

/* The result of a rule. */
struct gate_result {
	const struct gate_rule *rule; /* NULL: that of a gate without rules */
	enum verdict verdict;
	const struct comparison_row
		*row; /* the row that decides; NULL for whole runs, or if none does */
	/* Runs a side, or pairs, that would decide; 0: not known, or beyond all measure. */
	size_t more_runs;
};

struct gate_results {
	VEC(struct gate_result) rows;
	enum verdict verdict; /* the worst */
};

void gate_release(struct gate *g);
/* "total=2%,parse_header=10%,any=5%"; adds its rules. -EINVAL with err. */
int gate_parse(struct gate *g, const char *text, struct error *err);
/* Results borrow rows and rules. */
void gate_judge(const struct gate *g, const struct comparison *c, struct gate_results *results);
void gate_results_release(struct gate_results *results);

#endif
