/* SPDX-License-Identifier: MIT */
#include "cmd/options/diff_options.h"

#include "cmd/command.h"
#include "cmd/options/report_options.h"
#include "lib/path/path_weights.h"

/* Default number of rows for display; JSON gets all rows. */
#define ROWS_LIMIT 20

static const char *const output_names[] = {"text", "json", "markdown", NULL};
static const char *const metric_names[] = {"cpu", "wall", "rate", NULL};

static int set_gate(void *gate, const char *value, struct error *err)
{
	return gate_parse(gate, value, err);
}

#define AT(member) OPTION_AT(diff_options, member)

static const struct option_row rows[] = {
	{0, "by", "WHAT", QUERY_BY_HELP, OPTION_CHOICE, AT(comparison.by),
	 .choices = query_by_names},
	{0, "metric", "NAME", "what to compare: cpu (default), wall, rate", OPTION_CHOICE,
	 AT(metric), .choices = metric_names},
	{0, "critical-path", NULL, "compare what made the commands take so long", OPTION_FLAG,
	 AT(critical_path)},
	{0, "base", "NAME", "the variant that is A (default: the one given first)", OPTION_NAME,
	 AT(base)},
	{0, "against", "NAME", "the variant that is B, if there are more than two", OPTION_NAME,
	 AT(against)},
	{0, "assume-noise", "PERCENT", "assumed variation of runs, if each side has one",
	 OPTION_SHARE, AT(comparison.noise)},
	{0, "force", NULL, "compare even profiles that are not comparable", OPTION_FLAG, AT(force)},
	{0, "limit", "COUNT", "number of rows, 0 for all (20)", OPTION_NUMBER, AT(limit),
	 .range = &query_limit},
	{0, "format", "NAME", "format of standard output: text (default), json, markdown",
	 OPTION_CHOICE, AT(format), .choices = output_names},
	{0},
};

static const struct option_row gate_rows[] = {
	{.help = "\nGate:"},
	{0, "gate", "RULES", "fail if B is slower: total=2%,NAME=10%,any=5%", OPTION_CALL, AT(gate),
	 .set = set_gate},
	{0, "strict", NULL, "exit with 3 if the runs are inconclusive", OPTION_FLAG, AT(strict)},
	{0, "allow-single", NULL, "judge even if each side has one run", OPTION_FLAG,
	 AT(allow_single)},
	{.help = "\nOutput, besides the text:"},
	{'o', "output", "FILE", "a profile of both sides and their difference, or a page",
	 OPTION_NAME, AT(output_path)},
	{0, "json", "FILE", "all figures", OPTION_NAME, AT(json_path)},
	{0, "markdown", "FILE", "a summary for a job, of at most 30 lines", OPTION_NAME,
	 AT(markdown_path)},
	{0},
};

static int take(void *options, const char *path, struct error *err)
{
	struct diff_options *o = options;

	if (!o->is_divided && strcmp(path, "--") == 0) {
		o->is_divided = true;
		return 0;
	}
	if (!*path)
		return error_text(err, -EINVAL, "the file name must not be empty");
	vec_push(&o->sides[o->is_divided ? SIDE_B : SIDE_A].paths, path);
	return 0;
}

static const struct option_rule rules[] = {
	{"strict", NULL, "gate", "--strict @"},
	{"allow-single", NULL, "gate", "--allow-single @"},
	{"critical-path", "metric event include-idle", NULL,
	 "--critical-path: compares the time on the path, waits included, so @"},
	{"format", "json markdown", NULL, "--format: cannot be combined with --json or --markdown"},
	{0},
};

void diff_options_table(struct option_table *t, void *options)
{
	struct diff_options *o = options;

	t->usage =
		"Usage: prof diff [OPTION]... A B\n"
		"       prof diff [OPTION]... A... -- B...\n"
		"       prof diff [OPTION]... FILE\n"
		"Compare the runs of two sides: is B slower, and where? A FILE by itself has the "
		"runs\n"
		"of two variants (prof record --iterations --variant).\n"
		"\n";
	t->take = take;
	t->divides = true;
	option_table_add(t, rows, o);
	option_table_add(t, option_common, NULL);
	option_table_add(t, gate_rows, o);
	option_table_add(t, query_options, &o->comparison.filter);
	option_table_add_rules(t, rules);
	t->after =
		"\n"
		"A, B and FILE are profiles, compressed or not; - is stdin. For output, - is "
		"stdout, in\n"
		"place of the text.\n"
		"Exit status: 0 compared or passed, 1 regression, 3 inconclusive with --strict, or\n"
		"one run per side, 125 if a file cannot be used, 2 for a usage error.\n";
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

const struct format *diff_options_format(const char *path)
{
	return format_of_path(path) ?: FORMAT_DEFAULT;
}

static int check_output(const struct diff_options *o, struct error *err)
{
	const struct format *format = o->output_path ? diff_options_format(o->output_path) : NULL;

	if (is_stdout(o->json_path) + is_stdout(o->markdown_path) + is_stdout(o->output_path) > 1)
		return error_text(err, -EINVAL, "only one output can go to standard output");
	if (format && !format->has_comparison)
		return error_text(
			err, -EINVAL,
			"--output %s: only %s and %s can show a difference; for flame graphs use "
			"prof convert --diff",
			o->output_path, FORMAT_DEFAULT->name, format_html.name);
	return 0;
}

static size_t count_stdin(const struct diff_options *o)
{
	size_t count = 0;

	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&o->sides[side].paths, const char **, path)
			count += strcmp(*path, "-") == 0;
	}
	return count;
}

/* Without "--", the last of two files is B. */
static int divide(struct diff_options *o, struct error *err)
{
	size_t count = o->sides[SIDE_A].paths.count;

	if (!count)
		return error_text(err, -EINVAL, "no profile to compare");
	if (o->is_divided && !o->sides[SIDE_B].paths.count)
		return error_text(err, -EINVAL, "no profile after --");
	if (o->is_divided || count == 1)
		return 0;
	if (count > 2)
		return error_text(err, -EINVAL,
				  "more than two profiles: put -- between the profiles of A and B");
	vec_push(&o->sides[SIDE_B].paths, o->sides[SIDE_A].paths.items[--count]);
	o->sides[SIDE_A].paths.count = count;
	return 0;
}

static int complete(struct diff_options *o, struct error *err)
{
	int ret = divide(o, err);

	if (ret)
		return ret;
	if (count_stdin(o) > 1)
		return error_text(err, -EINVAL, "standard input can be read only once");
	if ((o->base || o->against) && o->sides[SIDE_B].paths.count)
		return error_text(err, -EINVAL, "--%s needs a single file with variants",
				  o->base ? "base" : "against");
	if (o->allow_single && o->comparison.noise < 0)
		o->comparison.noise = 0;
	if (o->format == DIFF_JSON)
		o->json_path = "-";
	if (o->format == DIFF_MARKDOWN)
		o->markdown_path = "-";
	return check_output(o, err);
}

int diff_options_parse(struct diff_options *o, int argc, char **argv, struct error *err)
{
	int ret;

	*o = (struct diff_options){
		.comparison = {.filter = QUERY_FILTER_ALL, .noise = -1},
		.limit = ROWS_LIMIT,
	};
	ret = command_parse(argc, argv, diff_options_table, o, err);
	if (o->critical_path)
		o->comparison.filter.event = PATH_EVENT;
	o->comparison.is_wall = o->metric == 1;
	o->comparison.is_rate = o->metric == 2;
	return ret ? ret : complete(o, err);
}

void diff_options_release(struct diff_options *o)
{
	gate_release(&o->gate);
	for (int side = 0; side < SIDE_COUNT; side++)
		vec_release(&o->sides[side].paths);
}
