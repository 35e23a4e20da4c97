/* SPDX-License-Identifier: MIT */
/* The command line of prof diff. */
#pragma once

#include "cmd/options/option_table.h"
#include "lib/format/format.h"
#include "lib/query/comparison.h"
#include "lib/query/gate.h"

enum diff_format { DIFF_TEXT, DIFF_JSON, DIFF_MARKDOWN };

/* Values are borrowed. */
struct diff_options {
	struct comparison_options comparison;
	struct gate gate;
	struct {
		VEC(const char *) paths;
	} sides[SIDE_COUNT]; /* without files of B, the file of A contains both sides */
	const char *base; /* name of variant A; NULL: the first one recorded */
	const char *against; /* name of variant B; NULL: the only other variant */
	const char *json_path, *markdown_path, *output_path; /* NULL: output not requested */
	size_t limit; /* maximum number of rows; 0: all */
	bool allow_single; /* accept even one run per side as evidence in the gate */
	bool strict; /* inconclusive results have a separate exit status */
	bool force;
	bool critical_path; /* compare only the time on the critical path */
	bool is_divided; /* "--" separates the sides */
	int metric; /* 0: CPU time or amount, 1: wall time, 2: per second */
	enum diff_format format;
};

/* Fills a table with the options, whose values are stored in `o`. */
void diff_options_table(struct option_table *t, void *options);
/*
 * Returns -ECANCELED if --help was printed, or -EINVAL with err if the command line is wrong.
 * Release the options in any case.
 */
int diff_options_parse(struct diff_options *o, int argc, char **argv, struct error *err);
void diff_options_release(struct diff_options *o);

/* Returns the format of --output. */
const struct format *diff_options_format(const char *path);
