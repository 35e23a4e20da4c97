/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtime_sources.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

#define SOURCES_MAX 512
/* Times that a source is read until it is readable, once for a function. */
#define TRIES_MAX 8
/* Lines of all together, 4 bytes each: more than real scripts have. */
#define LINES_MAX ((size_t)8 << 20)

static void release_row(struct runtime_source *row)
{
	line_starts_release(&row->lines);
	free(row->file);
}

void runtime_sources_release(struct runtime_sources *s)
{
	vec_for_each(&s->rows, struct runtime_source *, row)
		release_row(row);
	vec_release(&s->rows);
}

static struct runtime_source *find(struct runtime_sources *s, pid_t pid,
				   const struct managed_source *source)
{
	vec_for_each(&s->rows, struct runtime_source *, row) {
		if (row->pid == pid && row->source.object == source->object &&
		    row->source.id == source->id)
			return row;
	}
	return NULL;
}

/* Empties the row of the oldest source. */
static struct runtime_source *forget_one(struct runtime_sources *s)
{
	struct runtime_source *row = &s->rows.items[s->next++ % s->rows.count];

	s->lines -= row->lines.rows.count;
	release_row(row);
	*row = (struct runtime_source){0};
	return row;
}

static struct runtime_source *add(struct runtime_sources *s)
{
	if (s->rows.count >= SOURCES_MAX)
		return forget_one(s);
	vec_push(&s->rows, (struct runtime_source){0});
	return &s->rows.items[s->rows.count - 1];
}

/*
 * Finds a known source of that file with as long a text: for one whose script has moved since, or
 * whose process has ended. NULL: there is none.
 */
static const struct line_starts *find_alike(const struct runtime_sources *s,
					    const struct managed_source *source, const char *file)
{
	if (!source->length || !*file)
		return NULL;
	vec_for_each(&s->rows, const struct runtime_source *, row) {
		if (row->is_known && row->lines.length == source->length && row->file &&
		    strcmp(row->file, file) == 0)
			return &row->lines;
	}
	return NULL;
}

/* Sets the lines of one of the code's functions. */
static void set_lines(struct runtime_sources *s, const struct runtime_layout *layout, pid_t pid,
		      runtime_read_fn *read, void *ctx, struct managed_code *code,
		      uint32_t function)
{
	struct managed_function *inlined = function ? &code->inlined.items[function - 1] : NULL;
	const struct managed_source *source = inlined ? &inlined->source : &code->source;
	const char *file = strbuf_text(inlined ? &inlined->file : &code->file);
	const struct runtime *runtime = runtimes[layout->kind];
	const struct line_starts *lines;
	struct runtime_source *row;

	if (!source->object)
		return;
	row = find(s, pid, source);
	if (!row) {
		row = add(s);
		row->pid = pid;
		row->source = *source;
		row->file = xstrdup(file);
	}
	if (!row->is_known && row->tries++ < TRIES_MAX) {
		row->is_known = runtime->read_source(layout, source, read, ctx, &row->lines);
		s->lines += row->lines.rows.count;
	}
	lines = row->is_known ? &row->lines : find_alike(s, source, file);
	if (lines)
		runtime_set_lines(code, function, lines);
	while (s->lines > LINES_MAX)
		forget_one(s);
}

void runtime_sources_set_lines(struct runtime_sources *s, const struct runtime_layout *layout,
			       pid_t pid, runtime_read_fn *read, void *ctx,
			       struct managed_code *code)
{
	if (!runtimes[layout->kind]->read_source)
		return;
	for (uint32_t i = 0; i <= code->inlined.count; i++)
		set_lines(s, layout, pid, read, ctx, code, i);
	runtime_make_lines(code);
}
