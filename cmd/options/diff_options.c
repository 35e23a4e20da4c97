/* SPDX-License-Identifier: MIT */
#include "cmd/options/diff_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/options/query_options.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/format.h"

/* A page for people; programs get all rows. */
#define ROWS_LIMIT 20

enum {
	OPTION_BY = 256,
	OPTION_METRIC,
	OPTION_BASE,
	OPTION_AGAINST,
	OPTION_ASSUME_NOISE,
	OPTION_FORCE,
	OPTION_GATE,
	OPTION_STRICT,
	OPTION_LIMIT,
	OPTION_JSON,
	OPTION_MARKDOWN,
};

static const struct option longs[] = {
	{"output", required_argument, NULL, 'o'},
	{"by", required_argument, NULL, OPTION_BY},
	{"metric", required_argument, NULL, OPTION_METRIC},
	{"base", required_argument, NULL, OPTION_BASE},
	{"against", required_argument, NULL, OPTION_AGAINST},
	{"assume-noise", required_argument, NULL, OPTION_ASSUME_NOISE},
	{"force", no_argument, NULL, OPTION_FORCE},
	{"gate", required_argument, NULL, OPTION_GATE},
	{"strict", no_argument, NULL, OPTION_STRICT},
	{"limit", required_argument, NULL, OPTION_LIMIT},
	{"json", required_argument, NULL, OPTION_JSON},
	{"markdown", required_argument, NULL, OPTION_MARKDOWN},
	QUERY_LONG_OPTIONS,
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char *const metric_names[] = {"cpu", "wall"};

static void print_help(void)
{
	printf("Usage: prof diff [OPTION]... A B\n"
	       "       prof diff [OPTION]... A... -- B...\n"
	       "       prof diff [OPTION]... FILE\n"
	       "Compare the runs of two sides: is B slower, and where? A FILE by itself has the runs\n"
	       "of two variants (prof record --iterations --variant).\n"
	       "\n"
	       "  --by WHAT              rows: function (default), module, file, line, process\n"
	       "                         (of a program), pid, thread, category, address\n"
	       "  --metric NAME          slower by: cpu (default), wall\n"
	       "  --base NAME            the variant that is A; without, the one given first\n"
	       "  --against NAME         the variant that is B, where there are more than two\n"
	       "  --assume-noise PERCENT\n"
	       "                         how much runs vary, where there is one a side\n"
	       "  --force                compare what cannot be compared\n"
	       "  --limit COUNT          rows, 0 for all (20)\n"
	       "  -h, --help             show this and exit\n"
	       "\n"
	       "Gate:\n"
	       "  --gate RULES           fail where B is slower: total=2%%,NAME=10%%,any=5%%\n"
	       "  --strict               exit with 3 where the runs do not tell\n"
	       "\n"
	       "Output, besides the text:\n"
	       "  -o, --output FILE      a profile with threads A, B, and their difference\n"
	       "  --json FILE            all figures\n"
	       "  --markdown FILE        a summary for a job, of at most 30 lines\n"
	       "\n"
	       "%s"
	       "\n"
	       "A, B and FILE are profiles, compressed or not; - is stdin. Of output - is stdout, in\n"
	       "place of the text.\n"
	       "Exit status: 0 compared or passed, 1 regression, 3 inconclusive with --strict,\n"
	       "125 where files refuse, 2 for wrong use.\n",
	       query_options_help);
}

static int set_by(struct diff_options *o, const char *value, struct error *err)
{
	int by = query_options_choose("by", value, query_by_names, QUERY_BY_COUNT, err);

	o->comparison.by = by < 0 ? QUERY_BY_FUNCTION : (enum query_by)by;
	return by < 0 ? by : 0;
}

static int set_metric(struct diff_options *o, const char *value, struct error *err)
{
	int metric = query_options_choose("metric", value, metric_names, 2, err);

	o->comparison.is_wall = metric == 1;
	return metric < 0 ? metric : 0;
}

static int set_noise(struct diff_options *o, const char *value, struct error *err)
{
	return query_options_share("assume-noise", value, &o->comparison.noise, err);
}

static int set_path(const char **path, const char *option, const char *value, struct error *err)
{
	if (!*value)
		return error_text(err, -EINVAL, "%s: the name must not be empty", option);
	*path = value;
	return 0;
}

static int set_option(struct diff_options *o, int option, const char *value, struct error *err)
{
	int ret = query_options_set(&o->comparison.filter, option, value, err);

	if (ret != -ENOENT)
		return ret;
	switch (option) {
	case OPTION_BY:
		return set_by(o, value, err);
	case OPTION_METRIC:
		return set_metric(o, value, err);
	case OPTION_BASE:
		return set_path(&o->base, "--base", value, err);
	case OPTION_AGAINST:
		return set_path(&o->against, "--against", value, err);
	case OPTION_ASSUME_NOISE:
		return set_noise(o, value, err);
	case OPTION_FORCE:
		o->force = true;
		return 0;
	case OPTION_GATE:
		return gate_parse(&o->gate, value, err);
	case OPTION_STRICT:
		o->strict = true;
		return 0;
	case OPTION_LIMIT:
		return query_options_limit(value, &o->limit, err);
	case 'o':
		return set_path(&o->output_path, "--output", value, err);
	case OPTION_JSON:
		return set_path(&o->json_path, "--json", value, err);
	default:
		return set_path(&o->markdown_path, "--markdown", value, err);
	}
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static int check_output(const struct diff_options *o, struct error *err)
{
	const struct format *format = o->output_path ? format_of_path(o->output_path) : NULL;

	if (is_stdout(o->json_path) + is_stdout(o->markdown_path) + is_stdout(o->output_path) > 1)
		return error_text(err, -EINVAL, "standard output can get only one of the outputs");
	if (format && format != FORMAT_DEFAULT)
		return error_text(
			err, -EINVAL,
			"--output %s: only %s can have a difference; for flame graphs see "
			"prof convert --diff",
			o->output_path, FORMAT_DEFAULT->name);
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

/* Without "--", the last one of two files is B. */
static int divide(struct diff_options *o, bool is_divided, struct error *err)
{
	size_t count = o->sides[SIDE_A].paths.count;

	if (!count)
		return error_text(err, -EINVAL, "no profile to compare");
	if (is_divided && !o->sides[SIDE_B].paths.count)
		return error_text(err, -EINVAL, "no profile after --");
	if (is_divided || count == 1)
		return 0;
	if (count > 2)
		return error_text(err, -EINVAL,
				  "more than two profiles: put -- between those of A and of B");
	vec_push(&o->sides[SIDE_B].paths, o->sides[SIDE_A].paths.items[--count]);
	o->sides[SIDE_A].paths.count = count;
	return 0;
}

static int complete(struct diff_options *o, bool is_divided, struct error *err)
{
	int ret = divide(o, is_divided, err);

	if (ret)
		return ret;
	if (count_stdin(o) > 1)
		return error_text(err, -EINVAL, "standard input can be read once");
	if (o->strict && !o->gate.rules.count)
		return error_text(err, -EINVAL, "--strict needs --gate");
	if ((o->base || o->against) && o->sides[SIDE_B].paths.count)
		return error_text(err, -EINVAL, "--%s is for one file with variants",
				  o->base ? "base" : "against");
	return check_output(o, err);
}

static int take_file(struct diff_options *o, int side, const char *path, struct error *err)
{
	if (!*path)
		return error_text(err, -EINVAL, "the name of the file must not be empty");
	vec_push(&o->sides[side].paths, path);
	return 0;
}

int diff_options_parse(struct diff_options *o, int argc, char **argv, struct error *err)
{
	bool is_divided = false;
	int ret = 0;

	*o = (struct diff_options){
		.comparison = {.filter = QUERY_FILTER_ALL, .noise = -1},
		.limit = ROWS_LIMIT,
	};
	while (!ret && optind < argc) {
		int opt;

		if (is_divided) {
			ret = take_file(o, SIDE_B, argv[optind++], err);
			continue;
		}
		/* getopt_long() would swallow it. */
		if (strcmp(argv[optind], "--") == 0) {
			is_divided = true;
			optind++;
			continue;
		}
		opt = options_next(argc, argv, "+:o:h", longs, err);
		if (opt == 'h') {
			print_help();
			return -ECANCELED;
		}
		if (opt == '?')
			return -EINVAL;
		if (opt != -1)
			ret = set_option(o, opt, optarg, err);
		else if (optind < argc)
			ret = take_file(o, SIDE_A, argv[optind++], err);
	}
	return ret ? ret : complete(o, is_divided, err);
}

void diff_options_release(struct diff_options *o)
{
	gate_release(&o->gate);
	for (int side = 0; side < SIDE_COUNT; side++)
		vec_release(&o->sides[side].paths);
}
