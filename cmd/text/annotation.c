/* SPDX-License-Identifier: MIT */
#include "cmd/text/annotation.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "lib/base/text.h"
#include "symbolize/source_texts.h"

/* Lines shown around one with weight. */
#define AROUND 3
#define TAB 8
#define TEXT_MAX ((size_t)16 << 20)
/* Functions of one name are in few files, unless someone wants to keep us busy. */
#define TEXTS_MAX 16

/* A row of the table by lines. */
struct place {
	string_id file, module; /* of the table's texts, or NO_STRING */
	struct annotation_line line;
};

struct places {
	VEC(struct place) list;
};

static bool take_text_of_profile(struct annotation_file *file, const struct profile *p)
{
	vec_for_each(&p->source_files.rows, const struct source_file *, row) {
		if (!row->text || strcmp(strings_get(&p->strings, row->path), file->path) != 0)
			continue;
		file->text = xstrndup(row->text, row->size);
		file->size = strlen(file->text);
		return true;
	}
	return false;
}

static void read_text(struct annotation_file *file, const struct readers *readers,
		      uint64_t recorded_ns)
{
	struct source_text source = {0};

	if (source_text_read(readers, file->path, TEXT_MAX, &source) != SOURCE_TAKEN)
		return;
	file->text = source.text;
	file->size = source.size;
	file->is_changed = recorded_ns &&
			   source.modified_ns / 1000000000 > (int64_t)(recorded_ns / 1000000000);
}

static void find_texts(struct annotation *a, const struct profile *p, struct reader writer)
{
	struct identity owner = identity_of_invoker();
	struct identity before = identity_assume_files(&owner);
	struct readers readers = {0};

	readers_add(&readers, writer);
	for (size_t i = 0; i < a->files.count && i < TEXTS_MAX; i++) {
		struct annotation_file *file = &a->files.items[i];

		if (file->path && !take_text_of_profile(file, p) && !before.failure)
			read_text(file, &readers, p->meta.start_realtime_ns);
	}
	identity_restore_files(&before);
	readers_release(&readers);
}

static int compare_numbers(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = compare_numbers(x->file, y->file);

	order = order ? order : compare_numbers(x->module, y->module);
	return order ? order : compare_numbers(x->line.line, y->line.line);
}

static int compare_files(const void *a, const void *b)
{
	const struct annotation_file *x = a, *y = b;
	int order = (x->total < y->total) - (x->total > y->total);

	if (!order)
		order = strcmp(x->path ? x->path : "", y->path ? y->path : "");
	return order ? order : strcmp(x->module ? x->module : "", y->module ? y->module : "");
}

static void collect(struct places *places, const struct query_table *t, const char *function)
{
	vec_for_each(&t->rows, const struct query_row *, row) {
		const struct query_key *key = &t->keys->rows.items[row->key];

		if (key->function != NO_STRING &&
		    strcmp(query_keys_text(t->keys, key->function), function) == 0)
			vec_push(&places->list,
				 (struct place){.file = key->file,
						.module = key->module,
						.line = {key->line, row->self, row->total}});
	}
	vec_sort(&places->list, compare_places);
}

static char *copy_text(const struct query_table *t, string_id id)
{
	return id == NO_STRING ? NULL : xstrdup(query_keys_text(t->keys, id));
}

static void group(struct annotation *a, const struct places *places, const struct query_table *t)
{
	for (size_t i = 0; i < places->list.count; i++) {
		const struct place *place = &places->list.items[i], *before = place - 1;
		struct annotation_file *file;

		if (!i || before->file != place->file || before->module != place->module)
			vec_push(&a->files, (struct annotation_file){
						    .path = copy_text(t, place->file),
						    .module = copy_text(t, place->module),
					    });
		file = &vec_last(&a->files);
		vec_push(&file->lines, place->line);
		file->total += place->line.total;
	}
	vec_sort(&a->files, compare_files);
}

void annotation_make(struct annotation *a, const struct query *q, const char *function,
		     struct reader writer)
{
	struct places places = {0};
	struct query_table t;

	*a = (struct annotation){0};
	query_table_make(&t, q, QUERY_BY_LINE, NULL);
	collect(&places, &t, function);
	group(a, &places, &t);
	vec_release(&places.list);
	query_table_release(&t);
	find_texts(a, q->profile, writer);
}

void annotation_release(struct annotation *a)
{
	vec_for_each(&a->files, struct annotation_file *, file) {
		free(file->path);
		free(file->module);
		free(file->text);
		vec_release(&file->lines);
	}
	vec_release(&a->files);
}

/* A walk through the lines of a text, forwards. */
struct source_walk {
	const char *at; /* the beginning of the line, NULL if none */
	uint32_t line;
};

static void walk_to(struct source_walk *w, uint32_t line)
{
	while (w->at && w->line < line) {
		w->at = strchr(w->at, '\n');
		w->at = w->at && w->at[1] ? w->at + 1 : NULL;
		w->line++;
	}
}

/* The line without tabs; NULL where the text ends before. To be freed. */
static char *line_at(const struct source_walk *w)
{
	struct strbuf line = {0};

	if (!w->at)
		return NULL;
	for (const char *c = w->at; *c && *c != '\n'; c++) {
		size_t blanks = *c == '\t' ? TAB - line.size % TAB : 0;

		if (*c == '\r')
			continue;
		if (!blanks)
			strbuf_addch(&line, *c);
		while (blanks--)
			strbuf_addch(&line, ' ');
	}
	return strbuf_take(&line);
}

static void add_empty_cells(struct listing *l, size_t count)
{
	while (count--)
		listing_add_cell(l, NULL);
}

struct lister {
	struct listing *l;
	const struct query *q;
	const struct query_listing_options *options;
	struct source_walk walk;
	uint32_t last; /* line that has been listed */
};

/* Lines without weight from `from` on, before `until`. */
static void add_plain(struct lister *x, uint32_t from, uint32_t until)
{
	for (uint32_t line = from; line < until; line++) {
		walk_to(&x->walk, line);
		if (!x->walk.at)
			return;
		listing_add_row(x->l, 0);
		add_empty_cells(x->l, 2);
		listing_add_cell(x->l, xasprintf("%" PRIu32, line));
		listing_add_cell(x->l, line_at(&x->walk));
		x->last = line;
	}
}

static void add_gap(struct lister *x)
{
	listing_add_row(x->l, 0);
	add_empty_cells(x->l, 2);
	listing_add_cell(x->l, xstrdup("..."));
	add_empty_cells(x->l, 1);
}

/* Adds the lines before one with weight. */
static void add_before(struct lister *x, uint32_t line)
{
	uint32_t from = line > AROUND ? line - AROUND : 1;

	if (x->last && from > x->last + AROUND + 1) {
		add_plain(x, x->last + 1, x->last + AROUND + 1);
		if (x->walk.at)
			add_gap(x);
	} else if (x->last) {
		from = x->last + 1;
	}
	add_plain(x, from, line);
}

void annotation_list_file(struct listing *l, const struct annotation_file *file,
			  const struct query *q, const struct query_listing_options *options)
{
	struct lister x = {l, q, options, {file->text, 1}, 0};

	query_listing_add_weight_columns(l, options);
	listing_add_column(l, "LINE", LISTING_NUMBER);
	listing_add_column(l, "SOURCE", LISTING_TEXT);
	vec_for_each(&file->lines, const struct annotation_line *, line) {
		if (line->line)
			add_before(&x, line->line);
		walk_to(&x.walk, line->line);
		listing_add_row(l, 0);
		query_listing_add_weights(l, q, options, line->self, line->total);
		listing_add_cell(l, line->line ? xasprintf("%" PRIu32, line->line) : xstrdup("?"));
		listing_add_cell(l, line->line ? line_at(&x.walk) : NULL);
		x.last = line->line;
	}
	if (x.last)
		add_plain(&x, x.last + 1, x.last + AROUND + 1);
}

void annotation_list(struct listing *l, const struct annotation *a, const struct query *q,
		     const struct query_listing_options *options)
{
	listing_add_column(l, "module", LISTING_TEXT);
	listing_add_column(l, "file", LISTING_TEXT);
	listing_add_column(l, "line", LISTING_NUMBER);
	query_listing_add_weight_columns(l, options);
	listing_add_column(l, "source", LISTING_TEXT);
	vec_for_each(&a->files, const struct annotation_file *, file) {
		struct source_walk walk = {file->text, 1};

		vec_for_each(&file->lines, const struct annotation_line *, line) {
			walk_to(&walk, line->line);
			listing_add_row(l, 0);
			listing_add_cell(l, file->module ? xstrdup(file->module) : NULL);
			listing_add_cell(l, file->path ? xstrdup(file->path) : NULL);
			listing_add_cell(l, line->line ? xasprintf("%" PRIu32, line->line) : NULL);
			query_listing_add_weights(l, q, options, line->self, line->total);
			listing_add_cell(l, line->line ? line_at(&walk) : NULL);
		}
	}
}
