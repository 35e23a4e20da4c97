/* SPDX-License-Identifier: MIT */
#include "cmd/options/report_options.h"

#include <errno.h>
#include <stddef.h>

#include "cmd/command.h"
#include "cmd/options/query_options.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#define DEFAULT_PATH "profile.json.gz"
/* For people: a page of a table, and the large parts of a tree. */
#define TABLE_LIMIT 40
#define TREE_LIMIT 200
#define TREE_MIN_PERCENT 0.5
#define UNSET SIZE_MAX

static const char *const unit_names[] = {"percent", "ms", "samples", NULL};
static const char *const format_names[] = {"text", "json", "csv", "markdown", NULL};

static int set_tree(struct report_options *o, enum query_tree_kind kind, const char *function,
		    struct error *err)
{
	if (o->is_tree && (function || o->tree.function))
		return error_text(err, -EINVAL, "--callers and --callees print trees of their own");
	/* --tree --inverted is --inverted, in any order. */
	if (!o->is_tree || kind != QUERY_TREE_PLAIN)
		o->tree.kind = kind;
	o->is_tree = true;
	o->tree.function = function;
	return 0;
}

static int set_plain(void *o, const char *value, struct error *err)
{
	return set_tree(o, QUERY_TREE_PLAIN, value, err);
}

static int set_inverted(void *o, const char *value, struct error *err)
{
	return set_tree(o, QUERY_TREE_INVERTED, value, err);
}

static int set_callers(void *o, const char *value, struct error *err)
{
	return set_tree(o, QUERY_TREE_CALLERS, value, err);
}

static int set_callees(void *o, const char *value, struct error *err)
{
	return set_tree(o, QUERY_TREE_CALLEES, value, err);
}

static int add_debug_dir(void *at, const char *value, struct error *err)
{
	struct report_options *o = at;
	size_t count = 0;

	while (o->debug_dirs[count])
		count++;
	if (!*value)
		return error_text(err, -EINVAL, "--debug-dir: must not be empty");
	if (count == REPORT_DEBUG_DIRS_MAX)
		return error_text(err, -EINVAL, "--debug-dir: more than %d folders",
				  REPORT_DEBUG_DIRS_MAX);
	o->debug_dirs[count] = value;
	return 0;
}

#define AT(member) OPTION_AT(report_options, member)

static const struct option_row rows[] = {
	{0, "by", "WHAT", QUERY_BY_HELP, OPTION_CHOICE, AT(tree.by), .choices = query_by_names},
	{0, "tree", NULL, "call tree, from the outermost function inwards", OPTION_CALL,
	 .set = set_plain},
	{0, "inverted", NULL, "the same, from the innermost function outwards", OPTION_CALL,
	 .set = set_inverted},
	{0, "callers", "NAME", "callers of a function, as a tree", OPTION_CALL, .set = set_callers},
	{0, "callees", "NAME", "callees of a function, as a tree", OPTION_CALL, .set = set_callees},
	{0, "annotate", "NAME", "source lines of a function", OPTION_TEXT, AT(annotate)},
	{0, "asm", NULL, "with --annotate: its instructions", OPTION_FLAG, AT(assembly)},
	{0, "debug-dir", "DIR", "with --asm: look for programs there; may be repeated", OPTION_CALL,
	 .set = add_debug_dir},
	{0, "markers", NULL, "list markers (those of --process, --thread, --time)", OPTION_FLAG,
	 AT(markers)},
	{0, "min", "PERCENT", "leave out anything with a smaller total (trees: 0.5)", OPTION_SHARE,
	 AT(listing.min_share)},
	{0, "limit", "COUNT", "rows, 0 for all (text, markdown: 40, trees: 200)", OPTION_NUMBER,
	 AT(listing.limit), .range = &query_limit},
	{0, "unit", "UNIT", "percent (default), ms, samples (default of json and csv)",
	 OPTION_CHOICE, AT(listing.unit), .choices = unit_names},
	{0, "format", "NAME",
	 "text (default), json, csv, markdown (by itself: a summary\nfor a job)", OPTION_CHOICE,
	 AT(format), .choices = format_names},
	{0},
};

#define TREES "tree inverted callers callees"

static const struct option_rule rules[] = {
	{"markers", TREES " annotate by unit min", NULL, "--markers: is a list, without weights"},
	{"markers",
	 "event category during focus ignore hide root no-kernel fold-recursion include-idle", NULL,
	 "--markers: only --process, --thread and --time select them"},
	{"annotate", TREES " by", NULL, "--annotate: is a table of its own, by line"},
	{"annotate", "min limit", NULL, "--annotate: shows all lines"},
	{"asm", NULL, "annotate", "--asm: needs --annotate with a function"},
	{"debug-dir", NULL, "asm", "--debug-dir: only with --asm"},
	{0},
};

/* Sets defaults, and refuses what does not go together. */
static int complete(struct report_options *o, struct error *err)
{
	int ret;

	o->is_summary = o->format == REPORT_MARKDOWN && (int)o->tree.by < 0 && !o->is_tree &&
			!o->annotate && !o->markers;
	if ((int)o->tree.by < 0)
		o->tree.by = QUERY_BY_FUNCTION;
	o->listing.for_people = o->format == REPORT_TEXT || o->format == REPORT_MARKDOWN;
	ret = o->is_tree ? query_options_check_tree(o->tree.by, err) : 0;
	if (ret)
		return ret;
	if (o->tree.function && o->tree.by != QUERY_BY_FUNCTION)
		return error_text(err, -EINVAL, "--callers and --callees are by function");
	if ((int)o->listing.unit < 0)
		o->listing.unit = o->listing.for_people ? QUERY_UNIT_PERCENT : QUERY_UNIT_SAMPLES;
	if (o->listing.min_share < 0)
		o->listing.min_share = o->is_tree ? TREE_MIN_PERCENT / 100 : 0;
	if (o->listing.limit == UNSET && o->listing.for_people)
		o->listing.limit = o->is_tree ? TREE_LIMIT : TABLE_LIMIT;
	else if (o->listing.limit == UNSET)
		o->listing.limit = 0;
	if (!o->path)
		o->path = DEFAULT_PATH;
	return 0;
}

static int take(void *ctx, const char *operand, struct error *err)
{
	struct report_options *o = ctx;

	return command_take_file(&o->path, operand, err);
}

void report_options_table(struct option_table *t, void *options)
{
	struct report_options *o = options;

	t->usage = "Usage: prof report [OPTION]... [FILE]\n"
		   "Show where the time of a profile was spent.\n"
		   "\n";
	t->take = take;
	option_table_add(t, rows, o);
	option_table_add(t, option_config, NULL);
	option_table_add(t, option_help, NULL);
	option_table_add(t, query_options, &o->filter);
	option_table_add_rules(t, rules);
	t->after = "\n"
		   "FILE is a profile, compressed or not (profile.json.gz); - is stdin.\n"
		   "Exit status: 0, 125 if the file cannot be used, 2 for wrong use.\n";
}

int report_options_parse(struct report_options *o, int argc, char **argv, struct error *err)
{
	int ret;

	*o = (struct report_options){
		.filter = QUERY_FILTER_ALL,
		.tree = {.by = (enum query_by) - 1},
		.listing = {.unit = (enum query_unit) - 1, .min_share = -1, .limit = UNSET},
	};
	ret = command_parse(argc, argv, report_options_table, o, err);
	return ret ? ret : complete(o, err);
}
