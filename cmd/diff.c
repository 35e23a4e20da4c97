/* SPDX-License-Identifier: MIT */
/* prof diff: reports whether B is slower than A, and in which functions. */
#include <signal.h>

#include "cmd/command.h"
#include "cmd/options/diff_options.h"
#include "cmd/options/output_options.h"
#include "cmd/run/pager.h"
#include "cmd/run/sides.h"
#include "cmd/text/comparison_text.h"
#include "lib/base/outfile.h"

static const char name[] = "diff";

enum {
	EXIT_REGRESSION = 1,
	EXIT_INCONCLUSIVE = 3,
};

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
