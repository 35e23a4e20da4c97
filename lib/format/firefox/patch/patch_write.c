/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/patch/patch_internal.h"

/* meta.extra, "Show more" in the front-end: the file's entries merged with new ones. */

struct extra_writer {
	const struct profile *profile;
	bool *is_written; /* by row of the profile's entries */
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

/* Writes the entries of this section that are not written yet. */
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
	jsonw_raw_value(x->w, s->text + span.start, span.end - span.start);
}

/* Reads the label of a section or an entry, "" if it has none. */
static void read_label(const struct json_cursor *of, struct span object, struct strbuf *label)
{
	struct json_cursor s = json_cursor_within(of, object);

	strbuf_reset(label);
	json_for_each_member_if_any(&s, key) {
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

/*
 * Writes the value of meta.extra. The profile's entries replace those of the file
 * with the same section and label.
 */
static void patch_extra(const struct patch *r, struct jsonw *w)
{
	size_t count = r->profile->meta.extra.count;
	_cleanup_free_ bool *is_written = xcalloc(count + 1, sizeof(*is_written));
	struct extra_writer x = {.profile = r->profile, .is_written = is_written, .w = w};
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.extra);
	struct span section;

	jsonw_array_begin(w);
	json_for_each_element_if_any(&s, i) {
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
	const char *key; /* key of a new member; NULL: replace the value */
};

struct edits {
	VEC(struct edit) rows;
};

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
		jsonw_i64(w, patch_map_string(r, value));
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

/* A column filled from one field of the drafts; NULL: there are none. */
#define CELL(key, rows, field) \
	((struct new_column){.name = key, .cell = (rows) ? &(rows)->field : NULL})
#define COUNT(array) (sizeof(array) / sizeof(*(array)))
/* Writes a table from its drafts, whose type has the old row as `from`. */
#define WRITE_TABLE(r, w, table, rows, columns) \
	table_write(&(r)->layout.table, &(r)->layout.cursor, \
		    &(struct new_rows){(rows)->items ? &(rows)->items->from : NULL, \
				       sizeof(*(rows)->items), (rows)->count, columns, \
				       COUNT(columns)}, \
		    w)

static void write_stacks(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	bool is_distance = r->layout.version >= LAYOUT_VERSION_DISTANCE;
	struct stack_draft *rows = r->stacks.items;
	const struct new_column columns[] = {
		CELL("frame", rows, frame),
		CELL(is_distance ? "prefixOffset" : "prefix", rows, parent),
	};

	for (size_t i = 0; is_distance && i < r->stacks.count; i++)
		rows[i].parent = rows[i].parent == CELL_NULL ? 0 : (int64_t)i - rows[i].parent;
	WRITE_TABLE(r, w, stacks, &r->stacks, columns);
}

/* Sets the flag of a cell with a value; otherwise the cell becomes 0. */
static void flag_cell(int64_t *flags, int64_t flag, int64_t *cell)
{
	if (*cell == CELL_NULL)
		*flags &= ~flag;
	else if (*cell != CELL_KEEP)
		*flags |= flag;
	if (*cell == CELL_NULL)
		*cell = 0;
}

static void flag_frames(struct patch *r)
{
	if (!r->cells.frame_flags)
		return;
	vec_for_each(&r->frames, struct frame_draft *, row) {
		row->flags = r->cells.frame_flags[row->from];
		flag_cell(&row->flags, FRAME_HAS_CATEGORY, &row->category);
		flag_cell(&row->flags, FRAME_HAS_SYMBOL, &row->symbol);
		flag_cell(&row->flags, FRAME_HAS_LINE, &row->line);
		if (row->depth != CELL_KEEP && row->depth)
			row->flags |= FRAME_IS_INLINED;
	}
}

static void write_frames(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	const struct frame_draft *rows = r->frames.items;
	const struct new_column columns[] = {
		CELL("category", rows, category), CELL("subcategory", rows, subcategory),
		CELL("func", rows, func),	  CELL("nativeSymbol", rows, symbol),
		CELL("line", rows, line),	  CELL("inlineDepth", rows, depth),
		CELL("flags", rows, flags),
	};

	flag_frames(r);
	WRITE_TABLE(r, w, frames, &r->frames, columns);
}

static void write_funcs(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	struct func_draft *rows = r->funcs.items;
	const int64_t *flags = r->cells.func_flags;
	const struct new_column columns[] = {CELL("name", rows, name), CELL("source", rows, source),
					     CELL("lineNumber", rows, line),
					     CELL("flags", rows, flags)};

	for (size_t i = 0; flags && i < r->funcs.count; i++) {
		rows[i].flags = flags[rows[i].from];
		flag_cell(&rows[i].flags, FUNC_HAS_SOURCE, &rows[i].source);
		flag_cell(&rows[i].flags, FUNC_HAS_LINE, &rows[i].line);
	}
	WRITE_TABLE(r, w, funcs, &r->funcs, columns);
}

static void write_symbols(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	struct symbol_draft *rows = r->symbols.items;
	const struct new_column columns[] = {
		CELL("libIndex", rows, lib),
		CELL("address", rows, address),
		CELL("name", rows, name),
		CELL("functionSize", rows, size),
	};

	for (size_t i = 0; i < r->symbols.count; i++) {
		if (rows[i].size == CELL_NULL && r->layout.version >= LAYOUT_VERSION_SYMBOL_SIZE)
			rows[i].size = -1;
	}
	WRITE_TABLE(r, w, symbols, &r->symbols, columns);
}

static void write_resources(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	const struct table *t = &r->layout.resources;
	const struct new_column columns[] = {
		{.name = "name", .cell = r->cells.resource_name},
		{.name = "host", .cell = r->cells.resource_host},
	};
	const struct new_rows rows = {NULL, sizeof(int64_t), t->length, columns, COUNT(columns)};

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

static void write_sources(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	const struct source_draft *rows = r->sources.items;
	const struct new_column columns[] = {
		CELL("filename", rows, name),
		CELL("sourceMapURL", rows, map),
		CELL("startLine", rows, start),
		CELL("startColumn", rows, start),
		{.name = "content", .write = write_content, .ctx = r},
	};

	WRITE_TABLE(r, w, sources, &r->sources, columns);
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
		jsonw_raw_value(w, s.text + value.start, value.end - value.start);
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
	jsonw_bool(w, r->profile->meta.symbolicated);
}

static void write_extra(struct patch *r, struct jsonw *w, const struct edit *edit)
{
	patch_extra(r, w);
}

static void add_edit(struct edits *edits, struct span at,
		     void (*write)(struct patch *, struct jsonw *, const struct edit *))
{
	vec_push(&edits->rows, (struct edit){.at = at, .write = write});
}

/*
 * Replaces a member of meta, or inserts it right after the bracket: meta is not empty, as it has
 * its version.
 */
static void add_member(const struct patch *r, struct edits *edits, const char *key, struct span at,
		       void (*write)(struct patch *, struct jsonw *, const struct edit *))
{
	size_t front = r->layout.meta.start + 1;
	struct edit edit = {.at = at, .write = write};

	if (!at.end) {
		edit.key = key;
		edit.at = (struct span){front, front};
	}
	vec_push(&edits->rows, edit);
}

static void add_meta_edits(const struct patch *r, struct edits *edits)
{
	const struct layout *l = &r->layout;

	add_member(r, edits, "symbolicated", l->symbolicated, write_symbolicated);
	/* Disables symbolication in front-ends if everything is named. */
	if (l->not_supported.end || r->profile->meta.symbolicated)
		add_member(r, edits, "symbolicationNotSupported", l->not_supported,
			   write_symbolicated);
	if (r->profile->meta.extra.count)
		add_member(r, edits, "extra", l->extra, write_extra);
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

ORDER(compare_edits, struct edit, COMPARE(a->at.start, b->at.start))

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
		/* The preceding text includes the comma, if necessary. */
		w.is_first = true;
		if (edit->key)
			jsonw_key(&w, edit->key);
		edit->write(r, &w, edit);
		if (edit->key)
			jsonw_raw(&w, ",", 1);
		at = edit->at.end;
	}
	jsonw_raw(&w, text + at, r->layout.cursor.size - at);
	jsonw_release(&w);
	vec_release(&edits.rows);
}
