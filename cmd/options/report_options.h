/* SPDX-License-Identifier: MIT */
/* The command line of prof report. */
#pragma once

#include "cmd/options/option_table.h"
#include "lib/path/path_forecast.h"
#include "lib/query/keys.h"
#include "lib/query/select.h"
#include "lib/query/table.h"
#include "lib/query/tree.h"

/* Options of all commands that query a profile: the samples to count, the frames to show. */

/* Two groups of options with headings, after an empty line; values are stored in a query_filter. */
extern const struct option_row query_options[];
/* Help of --by, which sets an enum query_by. */
#define QUERY_BY_HELP \
	"rows: function (default), module, file, line, process\n" \
	"(of a program), pid, thread, category, address"
/* Checks that such rows can form stacks, for trees. Returns 0, or -EINVAL with err. */
int query_options_check_tree(enum query_by by, struct error *err);
/* Range of a limit on rows: size_t. */
extern const struct size_range query_limit;

#define REPORT_WHAT_IFS_MAX 16
#define REPORT_DEBUG_DIRS_MAX 16

enum report_format {
	REPORT_TEXT,
	REPORT_JSON,
	REPORT_CSV,
	REPORT_MARKDOWN,
};

enum query_unit {
	QUERY_UNIT_PERCENT, /* share of the total selected weight */
	QUERY_UNIT_MS, /* milliseconds of the clock, or of events that measure time */
	QUERY_UNIT_BYTES, /* of events that measure memory */
	QUERY_UNIT_SAMPLES, /* ticks, or occurrences of an event */
};

struct query_listing_options {
	enum query_unit unit;
	bool for_people; /* formatted for display; otherwise machine-readable */
	bool has_errors; /* for display: show each weight's sampling error */
	double min_share; /* rows with a smaller share of the total are omitted; 0 to 1 */
	size_t limit; /* maximum number of rows; 0: no limit */
};

struct report_options {
	const char *path;
	enum report_format format;
	struct query_filter filter;
	bool is_first_screen; /* show short answers; otherwise one table or tree */
	bool is_default_view; /* no other table or tree was asked for, in any format */
	bool leaves_noise_out; /* neither --limit nor --min was given */
	enum query_order order; /* order of table rows */
	bool is_tree; /* show a tree; otherwise a table */
	bool by_parallelism; /* show the weight by number of threads that ran */
	bool markers; /* show a list of markers */
	bool critical_path; /* weigh only the critical path */
	struct what_if what_ifs[REPORT_WHAT_IFS_MAX]; /* names are owned */
	size_t what_if_count;
	const char *annotate; /* function whose lines are shown; NULL: none */
	bool assembly; /* show instructions instead of lines */
	const char *debug_dirs[REPORT_DEBUG_DIRS_MAX + 1]; /* NULL-terminated */
	struct query_tree_options tree;
	struct query_listing_options listing;
};

/* Fills a table with the options, whose values are stored in `o`. */
void report_options_table(struct option_table *t, void *options);
/* Returns -ECANCELED if --help was printed, or -EINVAL with err if the command line is wrong. */
int report_options_parse(struct report_options *o, int argc, char **argv, struct error *err);

/* The command line of prof browse. */

struct browse_options {
	const char *path, *other; /* other: file to compare with; NULL: none */
	struct query_filter filter;
	enum query_by by;
	bool is_tree, is_inverted;
	VEC(const char *)
	debug_dirs; /* NULL-terminated after parsing; the terminator is not counted */
};

/* Fills a table with the options, whose values are stored in a struct browse_options. */
void browse_options_table(struct option_table *t, void *options);
/* Returns -ECANCELED if --help was printed, or -EINVAL with err if the command line is wrong. */
int browse_options_parse(struct browse_options *o, int argc, char **argv, struct error *err);

/* The hidden command of prof-browse, before the words of the command line. */
#define COMMAND_BROWSE "__browse"
