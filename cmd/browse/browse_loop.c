/* SPDX-License-Identifier: MIT */
#include "cmd/browse/browse_programs.h"
#include "cmd/browse/screen.h"
#include "cmd/browse/term.h"
#include "cmd/command.h"
#include "cmd/options/report_options.h"
#include "cmd/run/profile_file.h"
#include "cmd/text/comparison_text.h"
#include "lib/query/summary.h"

/* prof browse: the views of a file, or of two files and their difference. */

static const char name[] = "browse";

struct browse {
	struct browse_options options;
	struct profile_file file; /* used for one file */
	struct sides sides; /* used for two files */
	struct profile *profiles[SIDE_COUNT]; /* profile of the first run of each side */
	int side; /* side being shown */
};

static void describe(void *ctx, const struct query *q, struct strbuf *out)
{
	const struct browse *b = ctx;

	if (b->options.other)
		strbuf_addf(out, "%c: ", "AB"[b->side]);
	query_summary_text(q, out);
}

static void change_side(void *ctx, struct screen *s)
{
	struct browse *b = ctx;

	b->side = !b->side;
	s->model.profile = b->profiles[b->side];
	screen_update(s);
}

static int compare(void *ctx, struct screen *s, struct listing *l, struct strbuf *line,
		   struct error *err)
{
	struct browse *b = ctx;
	const struct comparison_options options = {
		.filter = *model_filter(&s->model),
		.by = s->model.by,
		.noise = -1,
	};
	struct comparison comparison = {0};
	struct comparable comparable = {0};
	const struct gate gate = {0};
	struct gate_results results = {0};
	struct comparison_text t = {
		.comparison = &comparison,
		.comparable = &comparable,
		.gate = &gate,
		.results = &results,
		.names = {b->options.path, b->options.other},
		.by = options.by,
	};
	int ret;

	comparable_check(&comparable, &b->sides.runs[SIDE_A], &b->sides.runs[SIDE_B]);
	if (comparable.refusals.count)
		ret = error_text(err, -EXDEV, "%s", comparable.refusals.items[0]);
	else
		ret = comparison_make(&comparison, &b->sides.runs[SIDE_A], &b->sides.runs[SIDE_B],
				      &options, err);
	if (!ret) {
		gate_judge(&gate, &comparison, &results);
		comparison_headline(&t, line);
		comparison_list(&t, l);
		gate_results_release(&results);
		comparison_release(&comparison);
	}
	comparable_release(&comparable);
	return ret;
}

static int show(struct browse *b)
{
	const struct browse_options *o = &b->options;
	const struct screen_source source = {
		.ctx = b,
		.command = name,
		.path = o->path,
		.writer = profile_file_owner(o->path),
		.debug_dirs = o->debug_dirs.items,
		.describe = describe,
		.compare = o->other ? compare : NULL,
		.change_side = o->other ? change_side : NULL,
	};
	struct error err = {0};
	struct query query;
	struct screen s;
	int status;

	/* Report mistakes in the filter before opening the screen. */
	if (o->filter.is_given) {
		if (query_select(&query, b->profiles[0], &o->filter, &err))
			return command_fail(name, EXIT_REFUSED, &err);
		query_release(&query);
	}
	if (term_open(&err)) {
		error_hint(&err, "use prof report %s", o->path);
		return command_fail(name, EXIT_USAGE, &err);
	}
	screen_init(&s);
	s.model.profile = b->profiles[0];
	s.model.by = o->by;
	s.view = o->is_inverted ? VIEW_INVERTED : o->is_tree ? VIEW_TREE : VIEW_FUNCTIONS;
	*model_filter(&s.model) = o->filter;
	if (o->other)
		s.view = VIEW_DIFFERENCE;
	status = screen_run(&s, &source);
	term_close();
	screen_release(&s);
	return status;
}

static int load_side(struct browse *b, const char *path, int side, struct error *err)
{
	size_t killed = 0;
	int ret = sides_load(&b->sides, path, NULL, &b->sides.runs[side], &killed, err);

	if (!ret)
		b->profiles[side] = vec_last(&b->sides.files.list).profile;
	return ret;
}

static int load(struct browse *b, struct error *err)
{
	int ret;

	if (!b->options.other) {
		ret = profile_file_load(&b->file, b->options.path, NULL, err);
		b->profiles[0] = b->file.profile;
		return ret;
	}
	return load_side(b, b->options.path, SIDE_A, err)
		       ?: load_side(b, b->options.other, SIDE_B, err);
}

int browse_show(int argc, char **argv)
{
	struct browse b = {0};
	struct error err = {0};
	int status;

	if (browse_options_parse(&b.options, argc, argv, &err))
		status = command_fail_usage(name, &err);
	else if (load(&b, &err))
		status = command_fail(name, EXIT_REFUSED, &err);
	else
		status = show(&b);
	if (b.options.other)
		sides_release(&b.sides);
	else
		profile_file_release(&b.file);
	vec_release(&b.options.debug_dirs);
	return status;
}
