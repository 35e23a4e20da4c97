/* SPDX-License-Identifier: MIT */
/* Lines and instructions of a function. */
#include "cmd/browse/screen.h"
#include "cmd/text/annotation.h"
#include "cmd/text/assembly.h"
#include "lib/base/alloc.h"
#include "lib/base/text.h"

static const struct query_listing_options how = {.unit = QUERY_UNIT_PERCENT, .for_people = true};

static void clear(struct screen *s)
{
	listing_release(&s->detail);
	s->detail = (struct listing){0};
	free(s->detail_title);
	s->detail_title = NULL;
}

/* The row with the largest self weight is what is looked for. */
static void go_to_heaviest(struct screen *s, size_t row)
{
	struct rows *r = &s->rows[s->view];

	rows_reset(r);
	r->cursor = row;
	r->top = row > 5 ? row - 5 : 0;
}

static bool open_lines(struct screen *s, const char *function)
{
	struct annotation a;

	annotation_make(&a, &s->model.query, function, s->source->writer);
	if (a.files.count) {
		const struct annotation_file *file = &a.files.items[0];

		clear(s);
		annotation_list_file(&s->detail, file, &s->model.query, &how);
		s->detail_title = xasprintf("%s: %s%s", function,
					    file->path ? file->path : "no source file is known",
					    file->path && !file->text ? " (its text is not here)"
					    : file->is_changed	      ? " (changed since)"
								      : "");
	} else {
		screen_say(s, "no sample with the function %s", function);
	}
	annotation_release(&a);
	return s->detail_title;
}

static bool open_assembly(struct screen *s, const char *function)
{
	static const char *const none[] = {NULL};
	struct assembly a;
	struct error err = {0};
	const char *const *dirs = s->source->debug_dirs ? s->source->debug_dirs : none;

	clear(s);
	if (assembly_make(&a, s->model.profile, &s->model.query, function, dirs, &err)) {
		screen_say(s, "%s", err.text);
	} else if (!a.functions.count) {
		screen_say(s, "no instruction of %s was sampled", function);
	} else {
		assembly_list_function(&s->detail, &a.functions.items[0], &s->model.query, &how);
		s->detail_title = xasprintf("assembly of %s", function);
	}
	assembly_release(&a);
	return s->detail_title;
}

static size_t heaviest(const struct listing *l)
{
	double best = 0;
	size_t found = 0;

	for (size_t row = 0; l->column_count && row < l->depths.count; row++) {
		const char *cell = l->cells.items[row * l->column_count];
		double share = cell ? strtod(cell, NULL) : 0;

		if (share > best) {
			best = share;
			found = row;
		}
	}
	return found;
}

void screen_open(struct screen *s, const char *function, enum view view)
{
	bool is_open;

	if (!s->model.has_query)
		return;
	is_open = view == VIEW_LINES ? open_lines(s, function) : open_assembly(s, function);
	if (!is_open)
		return;
	s->detail_function = function;
	if (s->view < VIEW_LINES)
		s->before = s->view;
	s->view = view;
	if (s->source->period_ms)
		s->is_frozen = true;
	go_to_heaviest(s, heaviest(&s->detail));
}
