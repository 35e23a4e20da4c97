/* SPDX-License-Identifier: MIT */
#include "cmd/options/report_options.h"

#include <errno.h>
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/options/query_options.h"
#include "lib/base/text.h"

#define DEFAULT_PATH "profile.json.gz"
/* For people, a table is a page, and a tree has what is worth a look. */
#define TABLE_LIMIT 40
#define TREE_LIMIT 200
#define TREE_MIN_PERCENT 0.5
#define UNSET SIZE_MAX

enum {
	OPTION_BY = 256,
	OPTION_TREE,
	OPTION_INVERTED,
	OPTION_CALLERS,
	OPTION_CALLEES,
	OPTION_ANNOTATE,
	OPTION_ASM,
	OPTION_DEBUG_DIR,
	OPTION_MARKERS,
	OPTION_MIN,
	OPTION_LIMIT,
	OPTION_UNIT,
	OPTION_FORMAT,
};

static const struct option longs[] = {
	{"by", required_argument, NULL, OPTION_BY},
	{"tree", no_argument, NULL, OPTION_TREE},
	{"inverted", no_argument, NULL, OPTION_INVERTED},
	{"callers", required_argument, NULL, OPTION_CALLERS},
	{"callees", required_argument, NULL, OPTION_CALLEES},
	QUERY_LONG_OPTIONS,
	{"annotate", required_argument, NULL, OPTION_ANNOTATE},
	{"asm", no_argument, NULL, OPTION_ASM},
	{"debug-dir", required_argument, NULL, OPTION_DEBUG_DIR},
	{"markers", no_argument, NULL, OPTION_MARKERS},
	{"min", required_argument, NULL, OPTION_MIN},
	{"limit", required_argument, NULL, OPTION_LIMIT},
	{"unit", required_argument, NULL, OPTION_UNIT},
	{"format", required_argument, NULL, OPTION_FORMAT},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char *const unit_names[] = {"percent", "ms", "samples"};
static const char *const format_names[REPORT_FORMAT_COUNT] = {"text", "json", "csv", "markdown"};

static void print_help(void)
{
	printf("Usage: prof report [OPTION]... [FILE]\n"
	       "Show where the time of a profile was spent.\n"
	       "\n"
	       "  --by WHAT              rows: function (default), module, file, line, process\n"
	       "                         (of a program), pid, thread, category, address\n"
	       "  --tree                 what calls what, from the outermost function on\n"
	       "  --inverted             the same from where samples were taken, to the callers\n"
	       "  --callers NAME         what calls a function\n"
	       "  --callees NAME         what a function calls\n"
	       "  --annotate NAME        source lines of a function\n"
	       "  --asm                  with --annotate: its instructions\n"
	       "  --debug-dir DIR        with --asm: look there for programs; may be repeated\n"
	       "  --markers              list markers (those of --process, --thread, --time)\n"
	       "  --min PERCENT          leave out what has less in total (trees: 0.5)\n"
	       "  --limit COUNT          rows, 0 for all (text, markdown: 40, trees: 200)\n"
	       "  --unit UNIT            percent (default), ms, samples (default of json and csv)\n"
	       "  --format NAME          text (default), json, csv, markdown\n"
	       "  -h, --help             show this and exit\n"
	       "\n"
	       "%s"
	       "\n"
	       "FILE is a profile, compressed or not (profile.json.gz); - is stdin.\n"
	       "Exit status: 0, 125 where the file refuses, 2 for wrong use.\n",
	       query_options_help);
}

static int set_by(struct report_options *o, const char *value, struct error *err)
{
	int by = query_options_choose("by", value, query_by_names, QUERY_BY_COUNT, err);

	o->tree.by = by < 0 ? QUERY_BY_FUNCTION : (enum query_by)by;
	o->by_is_set = true;
	return by < 0 ? by : 0;
}

static int set_tree(struct report_options *o, enum query_tree_kind kind, const char *function,
		    struct error *err)
{
	if (o->is_tree && (function || o->tree.function))
		return error_text(err, -EINVAL, "--callers and --callees are trees of their own");
	/* --tree --inverted is --inverted, in any order. */
	if (!o->is_tree || kind != QUERY_TREE_PLAIN)
		o->tree.kind = kind;
	o->is_tree = true;
	o->tree.function = function;
	return 0;
}

static int set_unit(struct report_options *o, const char *value, struct error *err)
{
	int unit = query_options_choose("unit", value, unit_names, 3, err);

	o->listing.unit = (enum query_unit)unit;
	return unit < 0 ? unit : 0;
}

static int set_format(struct report_options *o, const char *value, struct error *err)
{
	int format = query_options_choose("format", value, format_names, REPORT_FORMAT_COUNT, err);

	o->format = (enum report_format)format;
	return format < 0 ? format : 0;
}

static int add_debug_dir(struct report_options *o, const char *value, struct error *err)
{
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

static int set_option(void *ctx, int option, const char *value, struct error *err)
{
	struct report_options *o = ctx;
	int ret = query_options_set(&o->filter, option, value, err);

	if (ret != -ENOENT)
		return ret;
	switch (option) {
	case OPTION_BY:
		return set_by(o, value, err);
	case OPTION_TREE:
		return set_tree(o, QUERY_TREE_PLAIN, NULL, err);
	case OPTION_INVERTED:
		return set_tree(o, QUERY_TREE_INVERTED, NULL, err);
	case OPTION_CALLERS:
		return set_tree(o, QUERY_TREE_CALLERS, value, err);
	case OPTION_CALLEES:
		return set_tree(o, QUERY_TREE_CALLEES, value, err);
	case OPTION_ANNOTATE:
		o->annotate = value;
		return 0;
	case OPTION_ASM:
		o->assembly = true;
		return 0;
	case OPTION_DEBUG_DIR:
		return add_debug_dir(o, value, err);
	case OPTION_MARKERS:
		o->markers = true;
		return 0;
	case OPTION_MIN:
		return query_options_share("min", value, &o->listing.min_share, err);
	case OPTION_LIMIT:
		return query_options_limit(value, &o->listing.limit, err);
	case OPTION_UNIT:
		return set_unit(o, value, err);
	default:
		return set_format(o, value, err);
	}
}

/* Refuses what says nothing about markers. */
static int check_markers(const struct report_options *o, struct error *err)
{
	const struct query_filter *f = &o->filter;

	if (o->is_tree || o->annotate || o->by_is_set || (int)o->listing.unit >= 0 ||
	    o->listing.min_share >= 0)
		return error_text(err, -EINVAL, "--markers: is a list, without weights");
	if (f->event || f->category || f->during || f->focus || f->ignore || f->hide || f->root ||
	    f->no_kernel || f->include_idle)
		return error_text(err, -EINVAL,
				  "--markers: only --process, --thread and --time select them");
	return 0;
}

static int check_annotate(const struct report_options *o, struct error *err)
{
	if (o->is_tree || o->by_is_set)
		return error_text(err, -EINVAL, "--annotate: is a table of its own, by line");
	if (o->listing.min_share >= 0 || o->listing.limit != UNSET)
		return error_text(err, -EINVAL, "--annotate: shows all lines");
	return 0;
}

/* Sets defaults, and refuses what does not go together. */
static int complete(struct report_options *o, struct error *err)
{
	int ret = o->markers ? check_markers(o, err) : o->annotate ? check_annotate(o, err) : 0;

	if (ret)
		return ret;
	if (o->assembly && !o->annotate)
		return error_text(err, -EINVAL, "--asm: of which function? give --annotate, too");
	if (o->debug_dirs[0] && !o->assembly)
		return error_text(err, -EINVAL, "--debug-dir: is for --asm");
	o->listing.for_people = o->format == REPORT_TEXT || o->format == REPORT_MARKDOWN;
	if (o->is_tree && !query_by_has_stacks(o->tree.by))
		return error_text(err, -EINVAL, "--by %s: stacks are not made of those",
				  query_by_names[o->tree.by]);
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

static const struct command_syntax syntax = {
	.shorts = "+:h",
	.longs = longs,
	.print_help = print_help,
	.set = set_option,
	.take = take,
};

int report_options_parse(struct report_options *o, int argc, char **argv, struct error *err)
{
	int ret;

	*o = (struct report_options){
		.filter = QUERY_FILTER_ALL,
		.listing = {.unit = (enum query_unit) - 1, .min_share = -1, .limit = UNSET},
	};
	ret = command_parse(argc, argv, &syntax, o, err);
	return ret ? ret : complete(o, err);
}
