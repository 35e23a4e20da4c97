/* SPDX-License-Identifier: MIT */
#include "cmd/options/report_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#define DEFAULT_PATH "profile.json.gz"
/* For people, a table is a page, and a tree has what is worth a look. */
#define TABLE_LIMIT 40
#define TREE_LIMIT 200
#define TREE_MIN_PERCENT 0.5
#define UNSET SIZE_MAX
#define SECONDS_MAX 1e9

enum {
	OPTION_BY = 256,
	OPTION_TREE,
	OPTION_INVERTED,
	OPTION_CALLERS,
	OPTION_CALLEES,
	OPTION_PROCESS,
	OPTION_THREAD,
	OPTION_EVENT,
	OPTION_CATEGORY,
	OPTION_TIME,
	OPTION_FOCUS,
	OPTION_IGNORE,
	OPTION_HIDE,
	OPTION_ROOT,
	OPTION_NO_KERNEL,
	OPTION_INCLUDE_IDLE,
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
	{"process", required_argument, NULL, OPTION_PROCESS},
	{"thread", required_argument, NULL, OPTION_THREAD},
	{"event", required_argument, NULL, OPTION_EVENT},
	{"category", required_argument, NULL, OPTION_CATEGORY},
	{"time", required_argument, NULL, OPTION_TIME},
	{"focus", required_argument, NULL, OPTION_FOCUS},
	{"ignore", required_argument, NULL, OPTION_IGNORE},
	{"hide", required_argument, NULL, OPTION_HIDE},
	{"root", required_argument, NULL, OPTION_ROOT},
	{"no-kernel", no_argument, NULL, OPTION_NO_KERNEL},
	{"include-idle", no_argument, NULL, OPTION_INCLUDE_IDLE},
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
	       "  --by WHAT              rows: function (default), module, file, line, process,\n"
	       "                         thread, category, address\n"
	       "  --tree                 what calls what, from the outermost function on\n"
	       "  --inverted             the same from where samples were taken, to the callers\n"
	       "  --callers NAME         what calls a function\n"
	       "  --callees NAME         what a function calls\n"
	       "  --min PERCENT          leave out what has less in total (trees: 0.5)\n"
	       "  --limit COUNT          rows, 0 for all (text, markdown: 40, trees: 200)\n"
	       "  --unit UNIT            percent (default), ms, samples (default of json and csv)\n"
	       "  --format NAME          text (default), json, csv, markdown\n"
	       "  -h, --help             show this and exit\n"
	       "\n"
	       "Samples that count:\n"
	       "  --process GLOB         of processes of that name or pid\n"
	       "  --thread GLOB          of threads of that name or tid\n"
	       "  --event NAME           of that event; without, those of the clock\n"
	       "  --category GLOB        of code of that category: 'Kernel', 'Kernel: Files'\n"
	       "  --time A..B            from second A to second B; one of both may be missing\n"
	       "  --focus RE             with such a function in their stack\n"
	       "  --ignore RE            without any\n"
	       "  --include-idle         of idle CPUs, too\n"
	       "\n"
	       "Frames that are shown:\n"
	       "  --hide RE              leave such functions out: their callers get the weight\n"
	       "  --root NAME            let stacks begin with that function\n"
	       "  --no-kernel            leave the kernel's out\n"
	       "\n"
	       "FILE is a profile, compressed or not (profile.json.gz); - is stdin.\n"
	       "Exit status: 0, 125 where the file refuses, 2 for wrong use.\n");
}

static int choose(const char *option, const char *value, const char *const *names, size_t count,
		  struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf all = {0};

	for (size_t i = 0; i < count; i++) {
		if (strcmp(value, names[i]) == 0)
			return (int)i;
		strbuf_addf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	return error_text(err, -EINVAL, "--%s %s: must be one of %s", option, value,
			  strbuf_text(&all));
}

static int set_by(struct report_options *o, const char *value, struct error *err)
{
	int by = choose("by", value, query_by_names, QUERY_BY_COUNT, err);

	o->tree.by = by < 0 ? QUERY_BY_FUNCTION : (enum query_by)by;
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

static int parse_seconds(const char *text, uint64_t *ns)
{
	double seconds;

	if (!text_to_double(text, &seconds) || seconds < 0 || seconds > SECONDS_MAX)
		return -EINVAL;
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return 0;
}

static int set_time(struct report_options *o, const char *value, struct error *err)
{
	const char *dots = strstr(value, "..");
	_cleanup_free_ char *from = dots ? xstrndup(value, (size_t)(dots - value)) : NULL;
	const char *until = dots ? dots + 2 : "";

	if (!dots || (!*from && !*until) || (*from && parse_seconds(from, &o->filter.from)) ||
	    (*until && parse_seconds(until, &o->filter.until)))
		return error_text(err, -EINVAL, "--time %s: must be two times in seconds, A..B",
				  value);
	if (o->filter.from >= o->filter.until)
		return error_text(err, -EINVAL, "--time %s: ends before it begins", value);
	return 0;
}

static int set_min(struct report_options *o, const char *value, struct error *err)
{
	size_t size = strlen(value);
	_cleanup_free_ char *number = xstrndup(value,
					       size && value[size - 1] == '%' ? size - 1 : size);
	double percent;

	if (!text_to_double(number, &percent) || percent < 0 || percent > 100)
		return error_text(err, -EINVAL, "--min %s: must be a share, 0 to 100 percent",
				  value);
	o->listing.min_share = percent / 100;
	return 0;
}

static int set_limit(struct report_options *o, const char *value, struct error *err)
{
	uint64_t limit;

	if (!text_to_u64(value, 10, &limit) || limit >= UNSET)
		return error_text(err, -EINVAL, "--limit %s: must be a number of rows", value);
	o->listing.limit = limit;
	return 0;
}

static int set_unit(struct report_options *o, const char *value, struct error *err)
{
	int unit = choose("unit", value, unit_names, 3, err);

	o->listing.unit = (enum query_unit)unit;
	return unit < 0 ? unit : 0;
}

static int set_format(struct report_options *o, const char *value, struct error *err)
{
	int format = choose("format", value, format_names, REPORT_FORMAT_COUNT, err);

	o->format = (enum report_format)format;
	return format < 0 ? format : 0;
}

static const char **filter_text(struct query_filter *filter, int option)
{
	switch (option) {
	case OPTION_PROCESS:
		return &filter->process;
	case OPTION_THREAD:
		return &filter->thread;
	case OPTION_EVENT:
		return &filter->event;
	case OPTION_CATEGORY:
		return &filter->category;
	case OPTION_FOCUS:
		return &filter->focus;
	case OPTION_IGNORE:
		return &filter->ignore;
	case OPTION_HIDE:
		return &filter->hide;
	case OPTION_ROOT:
		return &filter->root;
	default:
		return NULL;
	}
}

static int set_option(struct report_options *o, int option, const char *value, struct error *err)
{
	const char **text = filter_text(&o->filter, option);

	if (text) {
		*text = value;
		return 0;
	}
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
	case OPTION_TIME:
		return set_time(o, value, err);
	case OPTION_NO_KERNEL:
		o->filter.no_kernel = true;
		return 0;
	case OPTION_INCLUDE_IDLE:
		o->filter.include_idle = true;
		return 0;
	case OPTION_MIN:
		return set_min(o, value, err);
	case OPTION_LIMIT:
		return set_limit(o, value, err);
	case OPTION_UNIT:
		return set_unit(o, value, err);
	default:
		return set_format(o, value, err);
	}
}

/* Sets defaults, and refuses what does not go together. */
static int complete(struct report_options *o, struct error *err)
{
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

int report_options_parse(struct report_options *o, int argc, char **argv, struct error *err)
{
	int ret = 0;

	*o = (struct report_options){
		.filter = QUERY_FILTER_ALL,
		.listing = {.unit = (enum query_unit) - 1, .min_share = -1, .limit = UNSET},
	};
	while (!ret && optind < argc) {
		int opt = options_next(argc, argv, "+:h", longs, err);

		if (opt == 'h') {
			print_help();
			return -ECANCELED;
		}
		if (opt == '?')
			return -EINVAL;
		if (opt != -1)
			ret = set_option(o, opt, optarg, err);
		else if (optind < argc)
			ret = command_take_file(&o->path, argv[optind++], err);
	}
	return ret ? ret : complete(o, err);
}
