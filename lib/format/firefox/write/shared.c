/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/internal.h"

#define RESOURCE_LIBRARY 1

static void table_begin(struct jsonw *w, const char *name)
{
	jsonw_key(w, name);
	jsonw_object_begin(w);
}

static void table_end(struct jsonw *w, size_t length)
{
	jsonw_key(w, "length");
	jsonw_u64(w, length);
	jsonw_object_end(w);
}

static void write_nulls(struct jsonw *w, const char *key, size_t count)
{
	char *at = jsonw_column_begin(w, key);

	for (size_t i = 0; i < count; i++)
		at = jsonw_column_next(jsonw_format_null(jsonw_column_room(w, at)));
	jsonw_column_end(w, at);
}

void firefox_write_same(struct jsonw *w, const char *key, size_t count, uint64_t value)
{
	char *at = jsonw_column_begin(w, key);

	for (size_t i = 0; i < count; i++)
		at = jsonw_column_next(jsonw_format_u64(jsonw_column_room(w, at), value));
	jsonw_column_end(w, at);
}

static void write_false(struct jsonw *w, const char *key, size_t count)
{
	char *at = jsonw_column_begin(w, key);

	for (size_t i = 0; i < count; i++)
		at = jsonw_column_next(jsonw_format_bool(jsonw_column_room(w, at), false));
	jsonw_column_end(w, at);
}

/* Lines and columns count from 1; 0 is unknown. */
static char *format_place(char *at, uint32_t place)
{
	return place ? jsonw_format_u64(at, place) : jsonw_format_null(at);
}

static void write_stacks(const struct firefox *f, struct jsonw *w)
{
	const struct stacks *stacks = &f->profile->stacks;
	stack_id id = 0;
	char *at;

	table_begin(w, "stackTable");
	at = jsonw_column_begin(w, "frame");
	vec_for_each(&stacks->rows, const struct stack *, row)
		at = jsonw_column_next(jsonw_format_u64(jsonw_column_room(w, at), row->frame));
	vec_for_each(&f->cpu_stacks.rows, const struct cpu_stack *, row)
		at = jsonw_column_next(jsonw_format_u64(jsonw_column_room(w, at), row->frame));
	jsonw_column_end(w, at);
	/* Distance to the parent; 0 for a root. */
	at = jsonw_column_begin(w, "prefixOffset");
	vec_for_each(&stacks->rows, const struct stack *, row) {
		at = jsonw_column_room(w, at);
		at = jsonw_format_u64(at, row->parent == NO_STACK ? 0 : id - row->parent);
		at = jsonw_column_next(at);
		id++;
	}
	vec_for_each(&f->cpu_stacks.rows, const struct cpu_stack *, row) {
		at = jsonw_column_room(w, at);
		at = jsonw_format_u64(at, row->parent == NO_STACK ? 0 : id - row->parent);
		at = jsonw_column_next(at);
		id++;
	}
	jsonw_column_end(w, at);
	table_end(w, id);
}

/* A frame without a category of its own has that of its caller. */
static bool has_category(const struct firefox_frame *frame)
{
	return frame->category.category != CATEGORY_OF_CALLER;
}

static char *format_category(char *at, const struct firefox *f, const struct firefox_frame *frame)
{
	return has_category(frame)
		       ? jsonw_format_u64(at, f->category_positions[frame->category.category])
		       : jsonw_format_null(at);
}

static char *format_subcategory(char *at, const struct firefox_frame *frame)
{
	return has_category(frame) ? jsonw_format_u64(at, frame->category.subcategory)
				   : jsonw_format_null(at);
}

static void write_frames(const struct firefox *f, struct jsonw *w)
{
	size_t count = f->frames.count;

	table_begin(w, "frameTable");
	FIREFOX_COLUMN(w, "address", &f->frames, struct firefox_frame, row, at,
		       jsonw_format_i64(at, row->address));
	FIREFOX_COLUMN(w, "lib", &f->frames, struct firefox_frame, row, at,
		       jsonw_format_i64(at, row->lib));
	FIREFOX_COLUMN(w, "inlineDepth", &f->frames, struct firefox_frame, row, at,
		       jsonw_format_u64(at, row->inline_depth));
	FIREFOX_COLUMN(w, "category", &f->frames, struct firefox_frame, row, at,
		       format_category(at, f, row));
	FIREFOX_COLUMN(w, "subcategory", &f->frames, struct firefox_frame, row, at,
		       format_subcategory(at, row));
	FIREFOX_COLUMN(w, "func", &f->frames, struct firefox_frame, row, at,
		       jsonw_format_u64(at, row->func));
	FIREFOX_COLUMN(w, "nativeSymbol", &f->frames, struct firefox_frame, row, at,
		       firefox_format_position(at, row->symbol));
	write_nulls(w, "innerWindowID", count);
	FIREFOX_COLUMN(w, "line", &f->frames, struct firefox_frame, row, at,
		       format_place(at, row->line));
	write_nulls(w, "column", count);
	write_nulls(w, "originalLocation", count);
	table_end(w, count);
}

static void write_funcs(const struct firefox *f, struct jsonw *w)
{
	size_t count = f->funcs.count;

	table_begin(w, "funcTable");
	FIREFOX_COLUMN(w, "name", &f->funcs, struct firefox_func, row, at,
		       jsonw_format_u64(at, row->name));
	FIREFOX_COLUMN(w, "isJS", &f->funcs, struct firefox_func, row, at,
		       jsonw_format_bool(at, row->is_js));
	write_false(w, "relevantForJS", count);
	FIREFOX_COLUMN(w, "resource", &f->funcs, struct firefox_func, row, at,
		       jsonw_format_i64(at, row->resource));
	FIREFOX_COLUMN(w, "source", &f->funcs, struct firefox_func, row, at,
		       firefox_format_position(at, row->source));
	FIREFOX_COLUMN(w, "lineNumber", &f->funcs, struct firefox_func, row, at,
		       format_place(at, row->line));
	FIREFOX_COLUMN(w, "columnNumber", &f->funcs, struct firefox_func, row, at,
		       format_place(at, row->column));
	write_nulls(w, "originalLocation", count);
	table_end(w, count);
}

static void write_symbols(const struct firefox *f, struct jsonw *w)
{
	table_begin(w, "nativeSymbols");
	FIREFOX_COLUMN(w, "libIndex", &f->symbols, struct firefox_symbol, row, at,
		       jsonw_format_i64(at, row->lib));
	FIREFOX_COLUMN(w, "address", &f->symbols, struct firefox_symbol, row, at,
		       jsonw_format_i64(at, row->address));
	FIREFOX_COLUMN(w, "name", &f->symbols, struct firefox_symbol, row, at,
		       jsonw_format_u64(at, row->name));
	FIREFOX_COLUMN(w, "functionSize", &f->symbols, struct firefox_symbol, row, at,
		       row->size ? jsonw_format_u64(at, row->size) : jsonw_format_null(at));
	table_end(w, f->symbols.count);
}

static void write_resources(struct firefox *f, struct jsonw *w)
{
	size_t count = f->libs.count;

	table_begin(w, "resourceTable");
	FIREFOX_COLUMN(w, "name", &f->libs, struct firefox_lib, row, at,
		       jsonw_format_u64(at, firefox_string(f, row->name)));
	write_nulls(w, "host", count);
	firefox_write_same(w, "type", count, RESOURCE_LIBRARY);
	table_end(w, count);
}

/* Texts may be large, so this is not a fast column. */
static void write_contents(const struct firefox *f, struct jsonw *w)
{
	const struct source_file *files = f->profile->source_files.rows.items;

	jsonw_key(w, "content");
	jsonw_array_begin(w);
	vec_for_each(&f->sources, const struct firefox_source *, row) {
		const struct source_file *file = &files[row->file];

		if (file->text)
			jsonw_string(w, file->text, file->size);
		else
			jsonw_null(w);
	}
	jsonw_array_end(w);
}

static void write_sources(const struct firefox *f, struct jsonw *w)
{
	size_t count = f->sources.count;

	table_begin(w, "sources");
	write_nulls(w, "id", count);
	FIREFOX_COLUMN(w, "filename", &f->sources, struct firefox_source, row, at,
		       jsonw_format_u64(at, row->path));
	firefox_write_same(w, "startLine", count, 1);
	firefox_write_same(w, "startColumn", count, 1);
	write_nulls(w, "sourceMapURL", count);
	write_contents(f, w);
	table_end(w, count);

	/* Targets of source maps, which native code does not have. */
	table_begin(w, "sourceLocationTable");
	write_nulls(w, "source", 0);
	write_nulls(w, "line", 0);
	write_nulls(w, "column", 0);
	table_end(w, 0);
}

static void write_strings(const struct firefox *f, struct jsonw *w)
{
	const struct file_strings *strings = &f->file_strings;

	jsonw_key(w, "stringArray");
	jsonw_array_begin(w);
	vec_for_each(&f->strings, const string_id *, id)
		jsonw_string(w, file_strings_get(strings, *id), file_strings_size(strings, *id));
	jsonw_array_end(w);
}

void firefox_write_shared(struct firefox *f, struct jsonw *w)
{
	jsonw_object_begin(w);
	write_stacks(f, w);
	write_frames(f, w);
	write_funcs(f, w);
	write_symbols(f, w);
	write_resources(f, w);
	write_sources(f, w);
	/* Strings come last: all other writers may add some. */
	write_strings(f, w);
	jsonw_object_end(w);
}
