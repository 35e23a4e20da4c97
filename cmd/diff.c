/* SPDX-License-Identifier: MIT */
/* prof diff: is B slower than A, and where? */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/options/diff_options.h"
#include "cmd/options/output_options.h"
#include "cmd/run/pager.h"
#include "cmd/run/profile_file.h"
#include "cmd/text/comparison_text.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/outfile.h"
#include "lib/query/join_sides.h"

static const char name[] = "diff";

enum {
	EXIT_REGRESSION = 1,
	EXIT_INCONCLUSIVE = 3,
};

struct diff {
	const struct diff_options *options;
	struct {
		VEC(struct profile_file) list;
	} files;
	struct query_runs sides[SIDE_COUNT];
	struct comparable comparable;
	struct comparison comparison;
	struct gate_results results;
	const char *names[SIDE_COUNT];
};

static void diff_release(struct diff *d)
{
	gate_results_release(&d->results);
	comparison_release(&d->comparison);
	comparable_release(&d->comparable);
	for (int side = 0; side < SIDE_COUNT; side++)
		query_runs_release(&d->sides[side]);
	vec_for_each(&d->files.list, struct profile_file *, file)
		profile_file_release(file);
	vec_release(&d->files.list);
}

/* Reads a file, and appends its runs. */
static int load(struct diff *d, const char *path, struct query_runs *runs, struct error *err)
{
	struct profile_file file;
	size_t killed;
	int ret = profile_file_load(&file, path, NULL, err);

	if (ret)
		return ret;
	vec_push(&d->files.list, file);
	ret = query_runs_find(runs, file.profile, err);
	if (ret)
		return error_wrap(err, "%s", file.label);
	killed = query_runs_drop_killed(runs);
	if (killed)
		vec_push(&d->comparable.warnings,
			 xasprintf("%s: left out, as a signal ended it: %zu of the runs",
				   file.label, killed));
	return runs->rows.count ? 0 : error_text(err, -ENODATA, "%s: no run", file.label);
}

static int load_variants(struct diff *d, const char *path, struct error *err)
{
	struct query_runs runs = {0};
	int ret = load(d, path, &runs, err);

	if (!ret) {
		ret = query_runs_split(&runs, d->options->base, d->options->against,
				       &d->sides[SIDE_A], &d->sides[SIDE_B], err);
		if (ret)
			error_wrap(err, "%s", d->files.list.items[0].label);
	}
	query_runs_release(&runs);
	if (ret)
		return ret;
	for (int side = 0; side < SIDE_COUNT; side++)
		d->names[side] = query_run_variant(&d->sides[side].rows.items[0]);
	return 0;
}

static int load_sides(struct diff *d, struct error *err)
{
	const struct diff_options *o = d->options;

	if (!o->sides[SIDE_B].paths.count)
		return load_variants(d, o->sides[SIDE_A].paths.items[0], err);
	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&o->sides[side].paths, const char *const *, path) {
			int ret = load(d, *path, &d->sides[side], err);

			if (ret)
				return ret;
		}
		d->names[side] = o->sides[side].paths.items[0];
	}
	return 0;
}

static int check_comparable(struct diff *d, struct error *err)
{
	comparable_check(&d->comparable, &d->sides[SIDE_A], &d->sides[SIDE_B]);
	vec_for_each(&d->comparable.warnings, char *const *, warning)
		command_say_as(name, "warning: %s", *warning);
	if (!d->comparable.refusals.count)
		return 0;
	if (!d->options->force)
		return error_text(err, -EXDEV, "cannot be compared (--force: all the same): %s",
				  d->comparable.refusals.items[0]);
	vec_for_each(&d->comparable.refusals, char *const *, refusal)
		command_say_as(name, "warning: %s", *refusal);
	return 0;
}

static int write_file(const char *path, const struct strbuf *text, struct error *err)
{
	struct outfile_options options = {
		.path = path,
		.fd = -1,
		.owner = identity_of_invoker(),
	};
	void (*before)(int);
	struct outfile *out;
	int ret = outfile_open(&out, &options, err);

	if (ret)
		return ret;
	before = signal(SIGPIPE, SIG_IGN);
	outfile_write(out, strbuf_text(text), text->size);
	ret = outfile_commit(out, err);
	signal(SIGPIPE, before);
	outfile_free(out);
	return ret;
}

/* To a file, or to standard output, where the text is left out then. */
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

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Both sides weigh as if they had as many runs. */
static int write_difference(const struct diff *d, const struct profile *p, struct error *err)
{
	uint32_t a = (uint32_t)d->sides[SIDE_A].rows.count;
	uint32_t b = (uint32_t)d->sides[SIDE_B].rows.count, divisor = greatest_divisor(a, b);
	const struct export_difference difference = {
		.base = SIDE_A,
		.thread = SIDE_B,
		.base_weight = b / divisor,
		.weight = a / divisor,
	};
	const struct export_options options = {.all_threads = true, .difference = &difference};
	const struct output_options output = {
		.path = d->options->output_path,
		.format = FORMAT_DEFAULT,
	};
	const struct identity owner = identity_of_invoker();
	struct outfile *out = NULL;
	int ret = output_open(&output, &owner, &out, err);

	if (!ret)
		ret = FORMAT_DEFAULT->write(p, &options, out, NULL, err);
	if (!ret)
		ret = outfile_commit(out, err);
	outfile_free(out);
	return ret;
}

static int write_profile(struct diff *d, bool *has_stdout, struct error *err)
{
	const struct query_runs *const sides[] = {&d->sides[SIDE_A], &d->sides[SIDE_B]};
	struct profile *p;
	int ret;

	if (!d->options->output_path)
		return 0;
	*has_stdout |= strcmp(d->options->output_path, "-") == 0;
	ret = join_sides(&p, sides, d->names, &d->options->comparison.filter, err);
	if (ret)
		return ret;
	ret = write_difference(d, p, err);
	profile_free(p);
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
		.names = {d->names[SIDE_A], d->names[SIDE_B]},
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
		ret = write_profile(d, &has_stdout, err);
	if (ret || has_stdout)
		return ret;
	comparison_print_text(&t, pager_width(), &out);
	pager_print(strbuf_text(&out), out.size);
	return 0;
}

static int exit_status(const struct diff *d)
{
	if (!d->options->gate.rules.count || d->results.verdict == VERDICT_PASSED)
		return 0;
	if (d->results.verdict == VERDICT_REGRESSION)
		return EXIT_REGRESSION;
	return d->options->strict ? EXIT_INCONCLUSIVE : 0;
}

static int compare(struct diff *d, struct error *err)
{
	int ret = load_sides(d, err);

	if (!ret)
		ret = check_comparable(d, err);
	if (!ret)
		ret = comparison_make(&d->comparison, &d->sides[SIDE_A], &d->sides[SIDE_B],
				      &d->options->comparison, err);
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
		return ret == -ECANCELED ? 0 : command_fail_usage(name, &err);
	}
	ret = compare(&d, &err);
	/* An expression that is none is wrong whatever the file. */
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
	.run = run,
};
