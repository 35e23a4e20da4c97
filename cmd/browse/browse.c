/* SPDX-License-Identifier: MIT */
/* prof browse: the views of a file. */
#include "cmd/browse/programs.h"
#include "cmd/browse/screen.h"
#include "cmd/browse/term.h"
#include "cmd/command.h"
#include "cmd/options/browse_options.h"
#include "cmd/run/profile_file.h"
#include "lib/query/summary.h"

static const char name[] = "browse";

static void describe(void *ctx, const struct query *q, struct strbuf *out)
{
	(void)ctx;
	query_summary_text(q, out);
}

static int show(const struct browse_options *o, const struct profile_file *file)
{
	const struct screen_source source = {
		.command = name,
		.path = o->path,
		.writer = profile_file_owner(o->path),
		.debug_dirs = o->debug_dirs.items,
		.describe = describe,
	};
	struct error err = {0};
	struct query query;
	struct screen s;
	int status;

	/* Mistakes in the filter are said before the screen begins. */
	if (o->filter.is_given) {
		if (query_select(&query, file->profile, &o->filter, &err))
			return command_fail(name, EXIT_REFUSED, &err);
		query_release(&query);
	}
	if (term_open(&err)) {
		error_hint(&err, "prof report %s", o->path);
		return command_fail(name, EXIT_USAGE, &err);
	}
	screen_init(&s);
	s.model.profile = file->profile;
	s.model.by = o->by;
	s.view = o->is_inverted ? VIEW_INVERTED : o->is_tree ? VIEW_TREE : VIEW_FUNCTIONS;
	*model_filter(&s.model) = o->filter;
	status = screen_run(&s, &source);
	term_close();
	screen_release(&s);
	return status;
}

int browse_show(int argc, char **argv)
{
	struct browse_options o;
	struct profile_file file;
	struct error err = {0};
	int status;

	if (browse_options_parse(&o, argc, argv, &err))
		status = command_fail_usage(name, &err);
	else if (profile_file_load(&file, o.path, NULL, &err))
		status = command_fail(name, EXIT_REFUSED, &err);
	else {
		status = show(&o, &file);
		profile_file_release(&file);
	}
	browse_options_release(&o);
	return status;
}
