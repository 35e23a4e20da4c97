/* SPDX-License-Identifier: MIT */
#include "cmd/options/report_options.h"

#include <strings.h>

#include "cmd/command.h"
#include "lib/model/languages/language.h"

#define SECONDS_MAX 1e9

static int parse_seconds(const char *text, uint64_t *ns)
{
	double seconds;

	if (!text_to_double(text, &seconds) || seconds < 0 || seconds > SECONDS_MAX)
		return -EINVAL;
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return 0;
}

static int set_time(void *at, const char *value, struct error *err)
{
	struct query_filter *filter = at;
	const char *dots = strstr(value, "..");
	_cleanup_free_ char *from = dots ? xstrndup(value, (size_t)(dots - value)) : NULL;
	const char *until = dots ? dots + 2 : "";

	if (!dots || (!*from && !*until) || (*from && parse_seconds(from, &filter->from)) ||
	    (*until && parse_seconds(until, &filter->until)))
		return error_text(err, -EINVAL, "--time %s: must be two times in seconds, A..B",
				  value);
	if (filter->from >= filter->until)
		return error_text(err, -EINVAL, "--time %s: ends before it begins", value);
	return 0;
}

/* Sets the parallelism from "3", "1-2" or "3-". */
static int set_parallelism(void *at, const char *value, struct error *err)
{
	struct query_filter *filter = at;
	const char *dash = strchr(value, '-');
	_cleanup_free_ char *first = dash ? xstrndup(value, (size_t)(dash - value))
					  : xstrdup(value);
	uint64_t min, max = UINT32_MAX;

	if (!text_to_u64(first, 10, &min) ||
	    (dash && dash[1] && !text_to_u64(dash + 1, 10, &max)) || !min || min > UINT32_MAX)
		return error_text(err, -EINVAL,
				  "--parallelism %s: must be a number of threads, A or A-B", value);
	if (!dash)
		max = min;
	if (max < min)
		return error_text(err, -EINVAL, "--parallelism %s: ends before it begins", value);
	filter->parallel_min = (uint32_t)min;
	filter->parallel_max = max < UINT32_MAX ? (uint32_t)max : UINT32_MAX;
	return 0;
}

static const char *const language_names[] = {"javascript", "python", "java",   "ruby",
					     "net",	   "php",    "perl",   "r",
					     "lua",	   "erlang", "native", NULL};
_Static_assert(sizeof(language_names) / sizeof(language_names[0]) == LANGUAGE_COUNT + 1,
	       "one for each, for native code and for the end");

static int set_language(void *at, const char *value, struct error *err)
{
	const char **language = at;

	for (size_t i = 0; language_names[i]; i++) {
		if (strcasecmp(value, language_names[i]) == 0) {
			*language = language_names[i];
			return 0;
		}
	}
	return error_text(err, -EINVAL,
			  "--language %s: must be javascript, python, java, ruby, net, php, perl, "
			  "r, lua, erlang or native",
			  value);
}

#define GIVEN OPTION_GIVEN(query_filter, is_given)
#define QUERY_OPTIONS_AT(member) OPTION_AT(query_filter, member), GIVEN

const struct size_range query_limit = {0, SIZE_MAX - 1, "must be a number of rows"};

const struct option_row query_options[] = {
	{.help = "\nWhich samples count:"},
	{0, "process", "GLOB", "in processes with this name or pid", OPTION_TEXT,
	 QUERY_OPTIONS_AT(process)},
	{0, "thread", "GLOB", "in threads with this name or tid", OPTION_TEXT,
	 QUERY_OPTIONS_AT(thread)},
	{0, "event", "NAME", "of this event (default: those of the clock)", OPTION_TEXT,
	 QUERY_OPTIONS_AT(event)},
	{0, "category", "GLOB", "in code of this category: 'Kernel', 'Kernel: Files'", OPTION_TEXT,
	 QUERY_OPTIONS_AT(category)},
	{0, "language", "NAME", "for code of this language: @", OPTION_CALL,
	 QUERY_OPTIONS_AT(language), .choices = language_names, .set = set_language},
	{0, "time", "A..B", "from second A to second B; either may be left out", OPTION_CALL, GIVEN,
	 .set = set_time},
	{0, "during", "MARKER", "while a marker with this name (a glob) lasts, on any thread",
	 OPTION_TEXT, QUERY_OPTIONS_AT(during)},
	{0, "parallelism", "A-B", "while A to B threads of the recording ran; or A, A-",
	 OPTION_CALL, GIVEN, .set = set_parallelism},
	{0, "focus", "RE", "with such a function in the stack", OPTION_TEXT,
	 QUERY_OPTIONS_AT(focus)},
	{0, "ignore", "RE", "without such a function in the stack", OPTION_TEXT,
	 QUERY_OPTIONS_AT(ignore)},
	{0, "include-idle", NULL, "also waits, whose category is Idle", OPTION_FLAG,
	 QUERY_OPTIONS_AT(include_idle)},
	{.help = "\nWhich frames are shown:"},
	{0, "hide", "RE", "leave such functions out; callers get their weight", OPTION_TEXT,
	 QUERY_OPTIONS_AT(hide)},
	{0, "root", "NAME", "start stacks at this function", OPTION_TEXT, QUERY_OPTIONS_AT(root)},
	{0, "no-kernel", NULL, "leave kernel frames out", OPTION_FLAG, QUERY_OPTIONS_AT(no_kernel)},
	{0, "own", NULL, "leave out code of packages, runtimes and the system", OPTION_FLAG,
	 QUERY_OPTIONS_AT(own)},
	{0, "fold-recursion", NULL, "show a function that calls itself once", OPTION_FLAG,
	 QUERY_OPTIONS_AT(fold_recursion)},
	{0},
};

int query_options_check_tree(enum query_by by, struct error *err)
{
	if (query_by_has_stacks(by))
		return 0;
	return error_text(err, -EINVAL, "--by %s: cannot be used for trees", query_by_names[by]);
}

/* Default limits for display: a page of a table, and the large parts of a tree. */
#define TABLE_LIMIT 40
#define TREE_LIMIT 200
#define FIRST_SCREEN_LIMIT 10
#define TREE_MIN_PERCENT 0.5
#define UNSET SIZE_MAX

/* The last choice of --by, which is not a key of queries. */
#define BY_PARALLELISM QUERY_BY_COUNT

static const char *const by_names[] = {QUERY_BY_NAMES, [BY_PARALLELISM] = "parallelism", NULL};
static const char *const unit_names[] = {"percent", "ms", "bytes", "samples", NULL};
static const char *const order_names[] = {"self", "total", "latency", NULL};
static const char *const format_names[] = {"text", "json", "csv", "markdown", NULL};

static int set_tree(struct report_options *o, enum query_tree_kind kind, const char *function,
		    struct error *err)
{
	if (o->is_tree && (function || o->tree.function))
		return error_text(err, -EINVAL,
				  "--callers and --callees cannot be combined with other trees");
	/* --tree --inverted equals --inverted, in any order. */
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

/* Parses NAME=FACTOR; names of functions may contain "=" as well. */
static int add_what_if(void *at, const char *value, struct error *err)
{
	struct report_options *o = at;
	const char *sign = strrchr(value, '=');
	char *end = NULL;
	double factor = sign ? strtod(sign + 1, &end) : 0;

	if (!sign || sign == value || end == sign + 1 || *end || !(factor >= 0 && factor <= 100))
		return error_text(err, -EINVAL,
				  "--what-if: %s: not NAME=FACTOR with a factor from 0 to 100",
				  value);
	if (o->what_if_count == REPORT_WHAT_IFS_MAX)
		return error_text(err, -EINVAL, "--what-if: more than %d functions",
				  REPORT_WHAT_IFS_MAX);
	o->what_ifs[o->what_if_count++] = (struct what_if){
		.function = xstrndup(value, (size_t)(sign - value)),
		.factor = factor,
	};
	return 0;
}

static const struct option_row rows[] = {
	{0, "by", "WHAT", QUERY_BY_HELP ",\nparallelism", OPTION_CHOICE, AT(tree.by),
	 .choices = by_names},
	{0, "tree", NULL, "call tree, from the outermost function inwards", OPTION_CALL,
	 .set = set_plain},
	{0, "inverted", NULL, "the same, from the innermost function outwards", OPTION_CALL,
	 .set = set_inverted},
	{0, "callers", "NAME", "callers of a function, as a tree", OPTION_CALL, .set = set_callers},
	{0, "callees", "NAME", "callees of a function, as a tree", OPTION_CALL, .set = set_callees},
	{0, "annotate", "NAME", "source lines of a function", OPTION_TEXT, AT(annotate)},
	{0, "asm", NULL, "with --annotate: instructions of the function", OPTION_FLAG,
	 AT(assembly)},
	{0, "debug-dir", "DIR", "with --asm: look for programs there; may be repeated", OPTION_CALL,
	 .set = add_debug_dir},
	{0, "markers", NULL, "list markers (those of --process, --thread, --time)", OPTION_FLAG,
	 AT(markers)},
	{0, "critical-path", NULL,
	 "only what made the command take so long (record with the same option)", OPTION_FLAG,
	 AT(critical_path)},
	{0, "what-if", "NAME=FACTOR",
	 "with --critical-path, of a capture: the time if this\nfunction took FACTOR of its time; may be repeated",
	 OPTION_CALL, .set = add_what_if},
	{0, "min", "PERCENT", "leave out anything with a smaller total (trees: 0.5)", OPTION_SHARE,
	 AT(listing.min_share)},
	{0, "limit", "COUNT", "number of rows, 0 for all (text: 10, with --by 40, trees 200)",
	 OPTION_NUMBER, AT(listing.limit), .range = &query_limit},
	{0, "sort", "WEIGHT", "order of a table: self (default), total, latency", OPTION_CHOICE,
	 AT(order), .choices = order_names},
	{0, "errors", NULL, "show the sampling error of each weight", OPTION_FLAG,
	 AT(listing.has_errors)},
	{0, "unit", "UNIT", "percent (default), ms, bytes, samples (default of json\nand csv)",
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
	 "event category language during parallelism focus ignore hide root no-kernel own fold-recursion include-idle",
	 NULL, "--markers: only --process, --thread and --time select them"},
	{"critical-path", "markers annotate event parallelism include-idle", NULL,
	 "--critical-path: is a table or a tree of the time on the path, with its waits"},
	{"what-if", NULL, "critical-path", "--what-if: needs --critical-path"},
	{"annotate", TREES " by", NULL, "--annotate: is a table of its own, by line"},
	{"sort", TREES " annotate markers", NULL, "--sort: orders the rows of tables"},
	{"errors", "markers", NULL, "--errors: markers have no weights"},
	{"annotate", "min limit", NULL, "--annotate: shows all lines"},
	{"asm", NULL, "annotate", "--asm: needs --annotate with a function"},
	{"debug-dir", NULL, "asm", "--debug-dir: only with --asm"},
	{0},
};

/* Sets the options that latencies require. */
static int complete_latency(struct report_options *o, struct error *err)
{
	o->by_parallelism = o->tree.by == (enum query_by)BY_PARALLELISM;
	if (o->by_parallelism && (o->is_tree || (int)o->order >= 0))
		return error_text(err, -EINVAL,
				  "--by parallelism: is a table in order of the number of threads");
	o->filter.latency = o->by_parallelism || o->order == QUERY_ORDER_LATENCY;
	if (o->filter.latency && o->filter.include_idle)
		return error_text(err, -EINVAL, "--include-idle: waits have no latency");
	if (o->filter.latency && o->critical_path)
		return error_text(err, -EINVAL,
				  "--critical-path: has no latencies: nothing on it "
				  "runs at the same time");
	return 0;
}

/* Sets defaults, and rejects conflicting options. */
static int complete(struct report_options *o, struct error *err)
{
	int ret = complete_latency(o, err);

	if (ret)
		return ret;
	o->is_default_view = (int)o->tree.by < 0 && !o->is_tree && !o->annotate && !o->markers &&
			     !o->critical_path && !o->filter.latency;
	o->is_first_screen = o->is_default_view &&
			     (o->format == REPORT_TEXT || o->format == REPORT_MARKDOWN);
	o->filter.include_idle = o->filter.include_idle || o->critical_path;
	if ((int)o->order < 0)
		o->order = QUERY_ORDER_SELF;
	if ((int)o->tree.by < 0)
		o->tree.by = QUERY_BY_FUNCTION;
	o->listing.for_people = o->format == REPORT_TEXT || o->format == REPORT_MARKDOWN;
	ret = o->is_tree ? query_options_check_tree(o->tree.by, err) : 0;
	if (ret)
		return ret;
	if (o->tree.function && o->tree.by != QUERY_BY_FUNCTION)
		return error_text(err, -EINVAL, "--callers and --callees: need --by function");
	if ((int)o->listing.unit < 0)
		o->listing.unit = o->listing.for_people ? QUERY_UNIT_PERCENT
				  : o->critical_path	? QUERY_UNIT_MS
							: QUERY_UNIT_SAMPLES;
	o->leaves_noise_out = o->listing.limit == UNSET && o->listing.min_share < 0;
	if (o->listing.min_share < 0)
		o->listing.min_share = o->is_tree ? TREE_MIN_PERCENT / 100 : 0;
	if (o->listing.limit == UNSET && o->is_first_screen && o->format == REPORT_TEXT)
		o->listing.limit = FIRST_SCREEN_LIMIT;
	else if (o->listing.limit == UNSET && o->listing.for_people)
		o->listing.limit = o->is_tree ? TREE_LIMIT : TABLE_LIMIT;
	else if (o->listing.limit == UNSET)
		o->listing.limit = 0;
	if (!o->path)
		o->path = PROFILE_PATH;
	return 0;
}

void report_options_table(struct option_table *t, void *options)
{
	struct report_options *o = options;

	t->usage = "Usage: prof report [OPTION]... [FILE]\n"
		   "Show where the time of a profile was spent.\n"
		   "\n";
	t->take = command_take_file;
	t->file = &o->path;
	option_table_add(t, rows, o);
	option_table_add(t, option_common, NULL);
	option_table_add(t, query_options, &o->filter);
	option_table_add_rules(t, rules);
	t->after = "\n"
		   "FILE is a profile, compressed or not (profile.json.gz); - is stdin.\n"
		   "Exit status: 0, 125 if the file cannot be used, 2 for a usage error.\n";
}

int report_options_parse(struct report_options *o, int argc, char **argv, struct error *err)
{
	*o = (struct report_options){
		.filter = QUERY_FILTER_ALL,
		.tree = {.by = (enum query_by) - 1},
		.order = (enum query_order) - 1,
		.listing = {.unit = (enum query_unit) - 1, .min_share = -1, .limit = UNSET},
	};
	return command_parse(argc, argv, report_options_table, o, err) ?: complete(o, err);
}

#define BROWSE_AT(member) OPTION_AT(browse_options, member)

static int add_browse_debug_dir(void *at, const char *value, struct error *err)
{
	struct browse_options *o = at;

	if (!*value)
		return error_text(err, -EINVAL, "--debug-dir: must not be empty");
	vec_push(&o->debug_dirs, value);
	return 0;
}

static const struct option_row browse_rows[] = {
	{0, "by", "WHAT", QUERY_BY_HELP, OPTION_CHOICE, BROWSE_AT(by), .choices = query_by_names},
	{0, "tree", NULL, "begin with the call tree", OPTION_FLAG, BROWSE_AT(is_tree)},
	{0, "inverted", NULL, "the same, from the innermost function outwards", OPTION_FLAG,
	 BROWSE_AT(is_inverted)},
	{0, "debug-dir", "DIR", "look for programs there; may be repeated", OPTION_CALL,
	 .set = add_browse_debug_dir},
	{0},
};

static int take_sides(void *ctx, const char *operand, struct error *err)
{
	struct browse_options *o = ctx;

	if (!o->path || o->other)
		return command_take_file(&o->path, operand, err);
	return command_take_file(&o->other, operand, err);
}

void browse_options_table(struct option_table *t, void *options)
{
	struct browse_options *o = options;

	t->usage = "Usage: prof browse [OPTION]... [FILE [OTHER]]\n"
		   "Look through a profile in the terminal, or compare two.\n"
		   "\n";
	t->take = take_sides;
	option_table_add(t, browse_rows, o);
	option_table_add(t, option_common, NULL);
	option_table_add(t, query_options, &o->filter);
	t->after =
		"\n"
		"FILE is a profile, compressed or not (profile.json.gz). ? lists the keys.\n"
		"Exit status: 0, 125 if the file cannot be used, 2 for a usage error or without\n"
		"a terminal.\n";
}

int browse_options_parse(struct browse_options *o, int argc, char **argv, struct error *err)
{
	int ret;

	*o = (struct browse_options){.filter = QUERY_FILTER_ALL};
	ret = command_parse(argc, argv, browse_options_table, o, err);
	if (!ret && (o->is_tree || o->is_inverted))
		ret = query_options_check_tree(o->by, err);
	if (!o->path)
		o->path = PROFILE_PATH;
	vec_push(&o->debug_dirs, NULL);
	o->debug_dirs.count--;
	return ret;
}
