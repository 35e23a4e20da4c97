/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/firefox/patch/patch_internal.h"

/* meta.extra, "Show more" in the front-end: the file's entries merged with new ones. */

struct extra_writer {
	const struct profile *profile;
	bool *is_written; /* by row of the profile's */
	struct jsonw *w;
};

static void write_entry(struct extra_writer *x, size_t row)
{
	const struct profile_extra *extra = &x->profile->meta.extra.items[row];
	struct jsonw *w = x->w;
	uint64_t number;
	bool is_number = strcmp(extra->format, "string") != 0 &&
			 text_to_u64(extra->value, 10, &number);

	x->is_written[row] = true;
	jsonw_object_begin(w);
	jsonw_member(w, "label", cstring, extra->label);
	jsonw_member(w, "format", cstring, is_number ? extra->format : "string");
	jsonw_key(w, "value");
	if (is_number)
		jsonw_u64(w, number);
	else
		jsonw_cstring(w, extra->value);
	jsonw_object_end(w);
}

/* Writes the rows of this section that are not written yet. */
static void write_entries(struct extra_writer *x, const char *section)
{
	for (size_t i = 0; i < x->profile->meta.extra.count; i++) {
		if (!x->is_written[i] &&
		    strcmp(x->profile->meta.extra.items[i].section, section) == 0)
			write_entry(x, i);
	}
}

static void write_raw(struct extra_writer *x, const struct json_cursor *s, struct span span)
{
	jsonw_raw_begin(x->w);
	jsonw_raw(x->w, s->text + span.start, span.end - span.start);
}

/* Reads the label of a section or an entry, "" if it has none. */
static void read_label(const struct json_cursor *of, struct span object, struct strbuf *label)
{
	struct json_cursor s = json_cursor_within(of, object);

	strbuf_reset(label);
	if (json_cursor_peek(&s) != '{')
		return;
	json_for_each_member(&s, key) {
		if (span_is(&s, key, "label") && json_cursor_peek(&s) == '"')
			json_cursor_string(&s, label);
	}
}

/* Returns the row that replaces the file's entry, or -1. */
static ssize_t find_entry(const struct extra_writer *x, const char *section, const char *label)
{
	for (size_t i = 0; i < x->profile->meta.extra.count; i++) {
		const struct profile_extra *extra = &x->profile->meta.extra.items[i];

		if (!x->is_written[i] && !strcmp(extra->section, section) &&
		    !strcmp(extra->label, label))
			return (ssize_t)i;
	}
	return -1;
}

static void merge_entries(struct extra_writer *x, struct json_cursor *s, const char *section)
{
	_cleanup_(strbuf_release) struct strbuf label = {0};
	struct span entry;

	jsonw_array_begin(x->w);
	json_for_each_element(s, i) {
		ssize_t row;

		json_cursor_value(s, &entry);
		read_label(s, entry, &label);
		row = find_entry(x, section, strbuf_text(&label));
		if (row >= 0)
			write_entry(x, (size_t)row);
		else
			write_raw(x, s, entry);
	}
	write_entries(x, section);
	jsonw_array_end(x->w);
}

static void merge_section(struct extra_writer *x, const struct json_cursor *of, struct span section)
{
	_cleanup_(strbuf_release) struct strbuf label = {0};
	struct json_cursor s = json_cursor_within(of, section);
	struct span value;

	read_label(of, section, &label);
	if (json_cursor_peek(&s) != '{') {
		write_raw(x, of, section);
		return;
	}
	jsonw_object_begin(x->w);
	json_for_each_member(&s, key) {
		_cleanup_free_ char *name = xstrndup(s.text + key.start, key.end - key.start);

		jsonw_key(x->w, name);
		if (strcmp(name, "entries") == 0 && json_cursor_peek(&s) == '[') {
			merge_entries(x, &s, strbuf_text(&label));
		} else {
			json_cursor_value(&s, &value);
			write_raw(x, &s, value);
		}
	}
	jsonw_object_end(x->w);
}

static void write_new_sections(struct extra_writer *x)
{
	for (size_t i = 0; i < x->profile->meta.extra.count; i++) {
		const char *section = x->profile->meta.extra.items[i].section;

		if (x->is_written[i])
			continue;
		jsonw_object_begin(x->w);
		jsonw_member(x->w, "label", cstring, section);
		jsonw_member(x->w, "entries", array_begin);
		write_entries(x, section);
		jsonw_array_end(x->w);
		jsonw_object_end(x->w);
	}
}

void patch_extra(const struct patch *r, struct jsonw *w)
{
	size_t count = r->profile->meta.extra.count;
	_cleanup_free_ bool *is_written = xcalloc(count + 1, sizeof(*is_written));
	struct extra_writer x = {.profile = r->profile, .is_written = is_written, .w = w};
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.extra);
	struct span section;

	jsonw_array_begin(w);
	for (size_t i = 0; r->layout.extra.end && json_cursor_element(&s, i); i++) {
		json_cursor_value(&s, &section);
		merge_section(&x, &s, section);
	}
	write_new_sections(&x);
	jsonw_array_end(w);
}

/* Writes the text with its changed parts replaced. */

struct edit {
	struct span at; /* range to replace; empty: insert */
	void (*write)(struct patch *r, struct jsonw *w, const struct edit *edit);
	const struct reference *reference;
};

struct edits {
	VEC(struct edit) rows;
};

static int64_t map_string(const struct patch *r, int64_t cell)
{
	return r->string_map && cell >= 0 ? r->string_map[cell] : cell;
}

static void write_index(const struct patch *r, struct jsonw *w, struct json_cursor *s,
			bool is_stack)
{
	int64_t value = 0;

	if (json_cursor_null(s)) {
		jsonw_null(w);
		return;
	}
	json_cursor_i64(s, &value);
	if (!is_stack)
		jsonw_i64(w, map_string(r, value));
	else
		jsonw_u64(w, r->stack_positions[value]);
}

static void write_reference(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, edit->at);
	enum reference_kind kind = edit->reference->kind;
	bool is_stack = kind == REFERENCE_STACK || kind == REFERENCE_STACKS;

	if (kind == REFERENCE_STACK || kind == REFERENCE_STRING) {
		write_index(r, w, &s, is_stack);
		return;
	}
	jsonw_array_begin(w);
	json_for_each_element(&s, i)
		write_index(r, w, &s, is_stack);
	jsonw_array_end(w);
}

/* A column from one field of the drafts. */
#define CELLS(rows, type, row, value) \
	({ \
		int64_t *cells_ = xreallocarray(NULL, (rows)->count + 1, sizeof(*cells_)); \
		size_t i_ = 0; \
		vec_for_each(rows, const type *, row) \
			cells_[i_++] = (value); \
		cells_; \
	})
#define FROM(rows, type) \
	({ \
		uint32_t *from_ = xreallocarray(NULL, (rows)->count + 1, sizeof(*from_)); \
		size_t i_ = 0; \
		vec_for_each(rows, const type *, row) \
			from_[i_++] = row->from; \
		from_; \
	})
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void write_stacks(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	bool is_distance = r->layout.version >= LAYOUT_VERSION_DISTANCE;
	int64_t position = 0;
	_cleanup_free_ uint32_t *from = FROM(&r->stacks, struct stack_draft);
	_cleanup_free_ int64_t *frames = CELLS(&r->stacks, struct stack_draft, row, row->frame);
	_cleanup_free_ int64_t *parents = CELLS(&r->stacks, struct stack_draft, row,
						row->parent == NO_POSITION ? CELL_NULL
									   : (int64_t)row->parent);
	const struct new_column columns[] = {
		{.name = "frame", .cells = frames},
		{.name = is_distance ? "prefixOffset" : "prefix", .cells = parents},
	};
	struct new_rows rows = {from, r->stacks.count, columns, COUNT(columns)};

	(void)edit;
	for (; is_distance && position < (int64_t)r->stacks.count; position++)
		parents[position] = parents[position] == CELL_NULL ? 0
								   : position - parents[position];
	table_write(&r->layout.stacks, &r->layout.cursor, &rows, w);
}

static void write_frames(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	_cleanup_free_ uint32_t *from = FROM(&r->frames, struct frame_draft);
	_cleanup_free_ int64_t *funcs = CELLS(&r->frames, struct frame_draft, row, row->func);
	_cleanup_free_ int64_t *symbols = CELLS(&r->frames, struct frame_draft, row, row->symbol);
	_cleanup_free_ int64_t *lines = CELLS(&r->frames, struct frame_draft, row, row->line);
	_cleanup_free_ int64_t *depths = CELLS(&r->frames, struct frame_draft, row, row->depth);
	_cleanup_free_ int64_t *category = CELLS(&r->frames, struct frame_draft, row,
						 row->category);
	_cleanup_free_ int64_t *subcategory = CELLS(&r->frames, struct frame_draft, row,
						    row->subcategory);
	const struct new_column columns[] = {
		{.name = "category", .cells = category},
		{.name = "subcategory", .cells = subcategory},
		{.name = "func", .cells = funcs},
		{.name = "nativeSymbol", .cells = symbols},
		{.name = "line", .cells = lines},
		{.name = "inlineDepth", .cells = depths},
	};
	struct new_rows rows = {from, r->frames.count, columns, COUNT(columns)};

	(void)edit;
	table_write(&r->layout.frames, &r->layout.cursor, &rows, w);
}

static void write_funcs(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	_cleanup_free_ uint32_t *from = FROM(&r->funcs, struct func_draft);
	_cleanup_free_ int64_t *names = CELLS(&r->funcs, struct func_draft, row,
					      map_string(r, row->name));
	_cleanup_free_ int64_t *sources = CELLS(&r->funcs, struct func_draft, row, row->source);
	const struct new_column columns[] = {
		{.name = "name", .cells = names},
		{.name = "source", .cells = sources},
	};
	struct new_rows rows = {from, r->funcs.count, columns, COUNT(columns)};

	(void)edit;
	table_write(&r->layout.funcs, &r->layout.cursor, &rows, w);
}

static void write_symbols(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	_cleanup_free_ uint32_t *from = FROM(&r->symbols, struct symbol_draft);
	_cleanup_free_ int64_t *libs = CELLS(&r->symbols, struct symbol_draft, row, row->lib);
	_cleanup_free_ int64_t *addresses = CELLS(&r->symbols, struct symbol_draft, row,
						  row->address);
	_cleanup_free_ int64_t *names = CELLS(&r->symbols, struct symbol_draft, row,
					      map_string(r, row->name));
	_cleanup_free_ int64_t *sizes = CELLS(&r->symbols, struct symbol_draft, row, row->size);
	const struct new_column columns[] = {
		{.name = "libIndex", .cells = libs},
		{.name = "address", .cells = addresses},
		{.name = "name", .cells = names},
		{.name = "functionSize", .cells = sizes},
	};
	struct new_rows rows = {from, r->symbols.count, columns, COUNT(columns)};

	(void)edit;
	table_write(&r->layout.symbols, &r->layout.cursor, &rows, w);
}

static void write_resources(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	const struct table *t = &r->layout.resources;
	_cleanup_free_ uint32_t *from = xreallocarray(NULL, t->length + 1, sizeof(*from));
	int64_t *names = r->cells.resource_name, *hosts = r->cells.resource_host;
	const struct new_column columns[] = {
		{.name = "name", .cells = names},
		{.name = "host", .cells = hosts},
	};
	struct new_rows rows = {from, t->length, columns, COUNT(columns)};

	(void)edit;
	for (uint32_t i = 0; i < t->length; i++) {
		from[i] = i;
		names[i] = map_string(r, names[i]);
		hosts[i] = map_string(r, hosts[i]);
	}
	table_write(t, &r->layout.cursor, &rows, w);
}

/* Writes a source file's text if there is a new one. */
static bool write_content(void *ctx, struct jsonw *w, size_t row)
{
	struct patch *r = ctx;
	const struct source_draft *draft = &r->sources.items[row];
	const struct source_file *file;

	if (draft->file == NO_SOURCE_FILE)
		return false;
	file = &r->profile->source_files.rows.items[draft->file];
	if (!file->text)
		return false;
	jsonw_string(w, file->text, file->size);
	return true;
}

/* Keeps the text of rows that have one in the file. */
static void keep_contents(struct patch *r)
{
	const struct column *column = table_column(&r->layout.sources, &r->layout.cursor,
						   "content");
	struct json_cursor s;

	if (!column)
		return;
	s = json_cursor_within(&r->layout.cursor, column->values);
	json_for_each_element(&s, row) {
		if (!json_cursor_null(&s))
			r->sources.items[row].file = NO_SOURCE_FILE;
	}
}

static int64_t source_map_of(const struct patch *r, const struct source_draft *source)
{
	if (source->from == NO_ROW || !r->cells.source_map)
		return CELL_NULL;
	return map_string(r, r->cells.source_map[source->from]);
}

static void write_sources(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	_cleanup_free_ uint32_t *from = FROM(&r->sources, struct source_draft);
	_cleanup_free_ int64_t *names = CELLS(&r->sources, struct source_draft, row,
					      map_string(r, row->name));
	_cleanup_free_ int64_t *maps = CELLS(&r->sources, struct source_draft, row,
					     source_map_of(r, row));
	_cleanup_free_ int64_t *starts = CELLS(&r->sources, struct source_draft, row,
					       row->from == NO_ROW ? 1 : CELL_KEEP);
	const struct new_column columns[] = {
		{.name = "filename", .cells = names},
		{.name = "sourceMapURL", .cells = maps},
		{.name = "startLine", .cells = starts},
		{.name = "startColumn", .cells = starts},
		{.name = "content", .write = write_content, .ctx = r},
	};
	struct new_rows rows = {from, r->sources.count, columns, COUNT(columns)};

	(void)edit;
	keep_contents(r);
	table_write(&r->layout.sources, &r->layout.cursor, &rows, w);
}

static void write_strings(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, edit->at);
	const struct strings *strings = &r->profile->strings;
	struct span value;

	jsonw_array_begin(w);
	json_for_each_element(&s, row) {
		json_cursor_value(&s, &value);
		if (r->string_map && r->string_map[row] == NO_POSITION)
			continue;
		jsonw_raw_begin(w);
		jsonw_raw(w, s.text + value.start, value.end - value.start);
	}
	for (size_t i = 0; i < r->new_strings.count; i++) {
		string_id id = r->new_strings.items[i];

		if (!r->string_map || r->string_map[r->layout.string_count + i] != NO_POSITION)
			jsonw_string(w, strings_get(strings, id), strings_size(strings, id));
	}
	jsonw_array_end(w);
}

static void write_symbolicated(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	(void)edit;
	jsonw_bool(w, r->profile->meta.symbolicated);
}

static void insert_symbolicated(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	jsonw_key(w, "symbolicated");
	write_symbolicated(r, w, edit);
	jsonw_raw(w, ",", 1);
}

/* Disables symbolication in front-ends if everything is named. */
static void insert_not_supported(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	jsonw_key(w, "symbolicationNotSupported");
	write_symbolicated(r, w, edit);
	jsonw_raw(w, ",", 1);
}

static void write_extra(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	(void)edit;
	patch_extra(r, w);
}

static void insert_extra(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	jsonw_key(w, "extra");
	write_extra(r, w, edit);
	jsonw_raw(w, ",", 1);
}

static void add_edit(struct edits *edits, struct span at,
		     void (*write)(struct patch *, struct jsonw *, const struct edit *))
{
	vec_push(&edits->rows, (struct edit){.at = at, .write = write});
}

static void add_meta_edits(const struct patch *r, struct edits *edits)
{
	const struct layout *l = &r->layout;
	/* Insert right after the bracket. meta is never empty: it has its version. */
	struct span front = {l->meta.start + 1, l->meta.start + 1};
	bool has_extra = r->profile->meta.extra.count;

	if (l->symbolicated.end)
		add_edit(edits, l->symbolicated, write_symbolicated);
	else
		add_edit(edits, front, insert_symbolicated);
	if (l->not_supported.end)
		add_edit(edits, l->not_supported, write_symbolicated);
	else if (r->profile->meta.symbolicated)
		add_edit(edits, front, insert_not_supported);
	if (has_extra && l->extra.end)
		add_edit(edits, l->extra, write_extra);
	else if (has_extra)
		add_edit(edits, front, insert_extra);
}

static void add_reference_edits(const struct patch *r, struct edits *edits)
{
	vec_for_each(&r->references, const struct reference *, reference) {
		bool is_stack = reference->kind == REFERENCE_STACK ||
				reference->kind == REFERENCE_STACKS;

		if (is_stack ? !r->stack_positions : !r->string_map)
			continue;
		vec_push(&edits->rows, (struct edit){
					       .at = reference->at,
					       .write = write_reference,
					       .reference = reference,
				       });
	}
}

static int compare_edits(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	return x->at.start < y->at.start ? -1 : x->at.start > y->at.start;
}

static void collect_edits(const struct patch *r, struct edits *edits)
{
	const struct layout *l = &r->layout;

	add_meta_edits(r, edits);
	add_reference_edits(r, edits);
	if (r->stack_positions)
		add_edit(edits, l->stacks.span, write_stacks);
	if (r->string_map)
		add_edit(edits, l->resources.span, write_resources);
	add_edit(edits, l->frames.span, write_frames);
	add_edit(edits, l->funcs.span, write_funcs);
	add_edit(edits, l->symbols.span, write_symbols);
	add_edit(edits, l->sources.span, write_sources);
	add_edit(edits, l->strings, write_strings);
	vec_sort(&edits->rows, compare_edits);
}

void patch_write(struct patch *r, struct outfile *out)
{
	const char *text = r->layout.cursor.text;
	struct edits edits = {0};
	struct jsonw w;
	size_t at = 0;

	collect_edits(r, &edits);
	jsonw_init(&w, out);
	vec_for_each(&edits.rows, const struct edit *, edit) {
		jsonw_raw(&w, text + at, edit->at.start - at);
		/* The preceding text includes the comma, if one is needed. */
		w.is_first = true;
		edit->write(r, &w, edit);
		at = edit->at.end;
	}
	jsonw_raw(&w, text + at, r->layout.cursor.size - at);
	jsonw_release(&w);
	vec_release(&edits.rows);
}
