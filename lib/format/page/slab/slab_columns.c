/* SPDX-License-Identifier: MIT */
#include "lib/format/page/slab/slab_columns.h"

#include "lib/model/languages/language.h"
#include "lib/model/meaning/categories.h"

/* The types of rows, for columns. */
#define TABLE(name, block, parent, parent_type, member, type) typedef type row_##name;
#define FIXED(name, block, rows, member, type) typedef type row_##name;
#include "lib/format/page/slab/columns.def"

const struct slab_table_row slab_tables[SLAB_TABLE_COUNT] = {
#define TABLE(table, of_block, of_parent, parent_type, member, type) \
	[SLAB_##table] = {.name = #table, \
			  .block = of_block, \
			  .parent = SLAB_##of_parent, \
			  .offset = offsetof(parent_type, member), \
			  .row_size = sizeof(type)},
#define FIXED(table, of_block, rows, member, type) \
	[SLAB_##table] = {.name = #table, \
			  .block = of_block, \
			  .parent = SLAB_NONE, \
			  .offset = offsetof(struct profile, member), \
			  .row_size = sizeof(type), \
			  .fixed = rows},
#include "lib/format/page/slab/columns.def"
};

const struct slab_column slab_columns[] = {
#define COLUMN(of_table, of_block, member, of_kind, most) \
	{.name = #of_table "." #member, \
	 .table = SLAB_##of_table, \
	 .block = of_block, \
	 .kind = of_kind, \
	 .limit = most, \
	 .offset = offsetof(row_##of_table, member), \
	 .size = sizeof(((row_##of_table *)0)->member)},
#include "lib/format/page/slab/columns.def"
};

const size_t slab_column_count = sizeof(slab_columns) / sizeof(slab_columns[0]);

static char *parent_row(const struct profile *p, enum slab_table table, size_t parent)
{
	enum slab_table above = slab_tables[table].parent;
	struct any_vec rows;

	if (above == SLAB_NONE)
		return (char *)p;
	rows = slab_rows(p, above, 0);
	return (char *)rows.items + parent * slab_tables[above].row_size;
}

struct any_vec slab_rows(const struct profile *p, enum slab_table table, size_t parent)
{
	const struct slab_table_row *row = &slab_tables[table];
	char *at = parent_row(p, table, parent) + row->offset;
	struct any_vec rows = {at, row->fixed, row->fixed};

	if (!row->fixed)
		memcpy(&rows, at, sizeof(rows));
	return rows;
}

void slab_set_rows(struct profile *p, enum slab_table table, size_t parent, struct any_vec rows)
{
	memcpy(parent_row(p, table, parent) + slab_tables[table].offset, &rows, sizeof(rows));
}

size_t slab_parents(const struct profile *p, enum slab_table table)
{
	enum slab_table above = slab_tables[table].parent;

	return above == SLAB_NONE ? 1 : slab_rows(p, above, 0).count;
}

static int bad(const char *what, struct error *err)
{
	return error_text(err, -EBADMSG, "the data is damaged: %s", what);
}

static bool is_reference(enum column_kind kind)
{
	return kind == COLUMN_ID || kind == COLUMN_NEAR_ID || kind == COLUMN_ROW;
}

static bool has_rows(const struct profile *p, const struct slab_column *c)
{
	size_t limit = slab_rows(p, (enum slab_table)c->limit, 0).count;
	size_t row_size = slab_tables[c->table].row_size, parents = slab_parents(p, c->table);

	for (size_t i = 0; i < parents; i++) {
		struct any_vec rows = slab_rows(p, c->table, i);
		const char *at = slab_member(&rows, c);

		for (size_t k = 0; k < rows.count; k++, at += row_size) {
			uint32_t id;

			memcpy(&id, at, sizeof(id));
			if (id >= limit && (c->kind == COLUMN_ROW || id != UINT32_MAX))
				return false;
		}
	}
	return true;
}

/* Finds the start of each string, and checks that all are terminated. */
static bool settle_strings(struct strings *s)
{
	uint64_t at = 0;

	vec_for_each(&s->rows, struct string_row *, row) {
		row->offset = at;
		at += (uint64_t)row->size + 1;
		if (at > s->text.count || s->text.items[at - 1])
			return false;
	}
	strings_index(s);
	return true;
}

/* A string has no NUL inside, unless it is a list. */
static bool categories_are_good(const struct profile *p)
{
	if (!p->categories.count || p->categories.count > UINT8_MAX)
		return false;
	vec_for_each(&p->categories, const struct profile_category *, row) {
		if (!row->name || !row->color || !row->subcategories.count)
			return false;
		vec_for_each(&row->subcategories, char **, name) {
			if (!*name)
				return false;
		}
	}
	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		if (frame->category == CATEGORY_OF_CALLER)
			continue;
		if (frame->category >= p->categories.count ||
		    frame->subcategory >= p->categories.items[frame->category].subcategories.count)
			return false;
	}
	return true;
}

static bool texts_are_good(const struct profile *p)
{
	bool is_good = true;

	vec_for_each(&p->meta.features, char **, text)
		is_good &= *text != NULL;
	vec_for_each(&p->meta.filters, char **, text)
		is_good &= *text != NULL;
	vec_for_each(&p->meta.extra, const struct profile_extra *, row)
		is_good &= row->section && row->label && row->value && row->format;
	return is_good;
}

/* Stacks without a frame row are already checked; parents precede their children. */
static bool stacks_are_good(const struct profile *p)
{
	stack_id id = 0;

	vec_for_each(&p->stacks.rows, const struct stack *, stack) {
		if (stack->parent != NO_STACK && stack->parent >= id)
			return false;
		id++;
	}
	return id != NO_STACK;
}

static bool samples_are_good(const struct profile_thread *thread, size_t events)
{
	uint64_t before = 0;

	vec_for_each(&thread->samples.open, const struct sample *, row) {
		if (row->time < before || (row->event && row->event >= events) ||
		    (!row->weight && row->stack != NO_STACK))
			return false;
		before = row->time;
	}
	return true;
}

static bool values_are_good(const struct profile *p)
{
	return !vec_find(&p->markers.values, value,
			 (value->type == FIELD_STRING && value->string != NO_STRING &&
			  value->string >= p->strings.rows.count) ||
				 (value->type == FIELD_STACK && value->stack != NO_STACK &&
				  value->stack >= p->stacks.rows.count));
}

static bool schemas_are_good(const struct profile *p)
{
	const struct schemas *s = &p->markers.schemas;

	vec_for_each(&s->rows, const struct schema *, schema) {
		if (schema->first_field > s->fields.count ||
		    schema->field_count > s->fields.count - schema->first_field)
			return false;
	}
	return !vec_find(&s->fields, field, field->type == FIELD_NONE) &&
	       s->rows.count <= MARKER_SCHEMAS_MAX;
}

static bool markers_are_good(const struct profile *p, const struct profile_thread *thread)
{
	size_t values = p->markers.values.count;

	vec_for_each(&thread->markers, const struct marker *, marker) {
		const struct schema *schema = schemas_get(&p->markers.schemas, marker->schema);

		if (marker->first_value >= values ||
		    schema->field_count >= values - marker->first_value ||
		    marker->end < marker->start)
			return false;
	}
	return true;
}

/* Completes values that files omit because they follow from others. */
static void complete(struct profile *p)
{
	vec_for_each(&p->modules.rows, struct module *, module) {
		module->file_key = UINT32_MAX;
		vec_for_each(&module->sections, struct module_section *, section)
			section->name[sizeof(section->name) - 1] = '\0';
	}
	vec_for_each(&p->meta.extra, struct profile_extra *, row)
		row->fact = fact_by_row(row->section, row->label, &row->of);
}

int slab_check(struct profile *p, struct error *err)
{
	if (!settle_strings(&p->strings))
		return bad("STRINGS", err);
	for (size_t i = 0; i < slab_column_count; i++) {
		if (is_reference(slab_columns[i].kind) && !has_rows(p, &slab_columns[i]))
			return bad(slab_columns[i].name, err);
	}
	if (!stacks_are_good(p) || !categories_are_good(p) || !texts_are_good(p))
		return bad("STACKS", err);
	if (!schemas_are_good(p) || !values_are_good(p))
		return bad("SCHEMAS", err);
	if (p->events.rows.count > EVENT_COUNTS_MAX || p->counters.rows.count > COUNTERS_MAX)
		return bad("EVENTS", err);
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		if (!samples_are_good(thread, p->events.rows.count) || !markers_are_good(p, thread))
			return bad("SAMPLES", err);
	}
	complete(p);
	return 0;
}
