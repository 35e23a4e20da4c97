/* SPDX-License-Identifier: MIT */
/* prof diff: reports whether B is slower than A, and in which functions. */
#include <signal.h>

#include "cmd/command.h"
#include "cmd/options/option_table.h"
#include "cmd/options/output_options.h"
#include "cmd/options/report_options.h"
#include "cmd/run/child_programs.h"
#include "cmd/run/profile_file.h"
#include "cmd/text/comparison_text.h"
#include "lib/base/outfile.h"
#include "lib/format/format.h"
#include "lib/path/path_weights.h"
#include "lib/query/comparison.h"
#include "lib/query/gate.h"

static const char name[] = "diff";

enum {
	EXIT_REGRESSION = 1,
	EXIT_INCONCLUSIVE = 3,
};

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

/* Fills a table with the options, whose values are stored in `o`. */
static void diff_options_table(struct option_table *t, void *options)
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

/* Returns the format of --output. */
static const struct format *diff_options_format(const char *path)
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

/*
 * Returns -ECANCELED if --help was printed, or -EINVAL with err if the command line is wrong.
 * Release the options in any case.
 */
static int diff_options_parse(struct diff_options *o, int argc, char **argv, struct error *err)
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

static void diff_options_release(struct diff_options *o)
{
	gate_release(&o->gate);
	for (int side = 0; side < SIDE_COUNT; side++)
		vec_release(&o->sides[side].paths);
}

struct diff {
	const struct diff_options *options;
	struct sides sides;
	struct comparable comparable;
	struct comparison comparison;
	struct gate_results results;
};

static void diff_release(struct diff *d)
{
	gate_results_release(&d->results);
	comparison_release(&d->comparison);
	comparable_release(&d->comparable);
	sides_release(&d->sides);
}

/* Reads a file, and appends its runs. */
static int load(struct diff *d, const char *path, struct query_runs *runs, struct error *err)
{
	size_t killed = 0;
	int ret = sides_load(&d->sides, path, NULL, runs, &killed, err);

	if (!ret && d->options->critical_path)
		ret = profile_file_keep_path(&vec_last(&d->sides.files.list), true, err);
	if (killed)
		vec_push(&d->comparable.warnings,
			 xasprintf("%s: runs left out because a signal ended them: %zu",
				   vec_last(&d->sides.files.list).label, killed));
	return ret;
}

static int load_variants(struct diff *d, const char *path, struct error *err)
{
	struct query_runs runs = {0};
	int ret = load(d, path, &runs, err);

	if (!ret) {
		ret = query_runs_split(&runs, d->options->base, d->options->against,
				       &d->sides.runs[SIDE_A], &d->sides.runs[SIDE_B], err);
		if (ret)
			error_wrap(err, "%s", d->sides.files.list.items[0].label);
	}
	query_runs_release(&runs);
	if (ret)
		return ret;
	for (int side = 0; side < SIDE_COUNT; side++)
		d->sides.names[side] = query_run_variant(&d->sides.runs[side].rows.items[0]);
	return 0;
}

static int load_sides(struct diff *d, struct error *err)
{
	const struct diff_options *o = d->options;

	if (!o->sides[SIDE_B].paths.count)
		return load_variants(d, o->sides[SIDE_A].paths.items[0], err);
	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&o->sides[side].paths, const char *const *, path) {
			int ret = load(d, *path, &d->sides.runs[side], err);

			if (ret)
				return ret;
		}
		d->sides.names[side] = o->sides[side].paths.items[0];
	}
	return 0;
}

static int check_comparable(struct diff *d, struct error *err)
{
	comparable_check(&d->comparable, &d->sides.runs[SIDE_A], &d->sides.runs[SIDE_B]);
	vec_for_each(&d->comparable.warnings, char *const *, warning)
		command_say_as(name, "warning: %s", *warning);
	if (!d->comparable.refusals.count)
		return 0;
	if (!d->options->force)
		return error_text(err, -EXDEV,
				  "cannot compare the profiles (use --force to compare anyway): %s",
				  d->comparable.refusals.items[0]);
	vec_for_each(&d->comparable.refusals, char *const *, refusal)
		command_say_as(name, "warning: %s", *refusal);
	return 0;
}

static int write_file(const char *path, const struct strbuf *text, struct error *err)
{
	const struct identity owner = identity_of_invoker();
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	int ret = outfile_write_plain(path, &owner, strbuf_text(text), text->size, err);

	signal(SIGPIPE, before);
	return ret;
}

/* Writes to a file, or to standard output in place of the text. */
static int write_as(void (*print)(const struct comparison_text *t, struct strbuf *out),
		    const struct comparison_text *t, const char *path, bool *has_stdout,
		    struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};

	if (!path)
		return 0;
	print(t, &out);
	if (strcmp(path, "-") != 0)
		return write_file(path, &out, err);
	fwrite(strbuf_text(&out), 1, out.size, stdout);
	*has_stdout = true;
	return 0;
}

static int write_profile(struct diff *d, const struct comparison_text *t, bool *has_stdout,
			 struct error *err)
{
	const char *path = d->options->output_path;
	const struct output_options output = {
		.path = path,
		.format = path ? diff_options_format(path) : NULL,
	};
	_cleanup_(strbuf_release) struct strbuf text = {0}, json = {0};
	struct sides_output written;
	const struct identity owner = identity_of_invoker();
	struct outfile *out = NULL;
	int ret;

	if (!output.path)
		return 0;
	*has_stdout |= strcmp(path, "-") == 0;
	written = (struct sides_output){.format = output.format};
	if (output.format == &format_html) {
		comparison_print_text(t, 0, &text);
		comparison_print_json(t, &json);
		written.text = strbuf_text(&text);
		written.json = strbuf_text(&json);
	}
	ret = output_open(&output, &owner, &out, err);
	if (!ret)
		ret = sides_write_difference(&d->sides, &d->options->comparison.filter, &written,
					     out, err);
	if (!ret)
		ret = outfile_commit(out, err);
	outfile_free(out);
	return ret;
}

static int print(struct diff *d, struct error *err)
{
	const struct diff_options *o = d->options;
	struct comparison_text t = {
		.comparison = &d->comparison,
		.comparable = &d->comparable,
		.gate = &o->gate,
		.results = &d->results,
		.names = {d->sides.names[SIDE_A], d->sides.names[SIDE_B]},
		.by = o->comparison.by,
		.is_wall = o->comparison.is_wall,
		.limit = o->limit,
	};
	_cleanup_(strbuf_release) struct strbuf out = {0};
	bool has_stdout = false;
	int ret = write_as(comparison_print_json, &t, o->json_path, &has_stdout, err);

	if (!ret)
		ret = write_as(comparison_print_markdown, &t, o->markdown_path, &has_stdout, err);
	if (!ret)
		ret = write_profile(d, &t, &has_stdout, err);
	if (ret || has_stdout)
		return ret;
	comparison_print_text(&t, pager_columns(), &out);
	pager_print(strbuf_text(&out), out.size);
	return 0;
}

/*
 * Returns true unless the variation between runs is known: from several runs per side, or from the
 * user.
 */
static bool is_single(const struct diff *d)
{
	return d->sides.runs[SIDE_A].rows.count == 1 && d->sides.runs[SIDE_B].rows.count == 1 &&
	       d->options->comparison.noise < 0;
}

static int exit_status(const struct diff *d)
{
	if (!d->options->gate.rules.count)
		return 0;
	if (is_single(d)) {
		struct error err = {0};

		error_text(&err, -EINVAL, "--gate: a single run per side cannot decide");
		error_hint(&err, "repeat with prof record --iterations 5, or use --allow-single");
		return command_fail(name, EXIT_INCONCLUSIVE, &err);
	}
	if (d->results.verdict == VERDICT_PASSED)
		return 0;
	if (d->results.verdict == VERDICT_REGRESSION)
		return EXIT_REGRESSION;
	return d->options->strict ? EXIT_INCONCLUSIVE : 0;
}

static int compare(struct diff *d, struct error *err)
{
	int ret = load_sides(d, err) ?: check_comparable(d, err);

	if (!ret)
		ret = comparison_make(&d->comparison, &d->sides.runs[SIDE_A],
				      &d->sides.runs[SIDE_B], &d->options->comparison, err);
	if (ret)
		return ret;
	gate_judge(&d->options->gate, &d->comparison, &d->results);
	return print(d, err);
}

static int run(int argc, char **argv)
{
	struct diff_options options;
	struct diff d = {.options = &options};
	struct error err = {0};
	int ret = diff_options_parse(&options, argc, argv, &err);

	if (ret) {
		diff_options_release(&options);
		return command_fail_usage(name, &err);
	}
	ret = compare(&d, &err);
	/* An invalid expression is a usage error in any file. */
	if (ret == -EINVAL)
		ret = command_fail_usage(name, &err);
	else
		ret = ret ? command_fail(name, EXIT_REFUSED, &err) : exit_status(&d);
	diff_release(&d);
	diff_options_release(&options);
	return ret;
}

const struct command command_diff = {
	.name = name,
	.summary = "compare profiles: is one slower, and where",
	.options = diff_options_table,
	.run = run,
};
