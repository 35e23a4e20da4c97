/* SPDX-License-Identifier: MIT */
#include "lib/export/firefox.h"

#include "lib/profile/categories.h"

#define RESOURCE_LIBRARY 1

/* One column: `write` is done for every row. */
#define COLUMN(w, key, rows, type, row, write) \
	do { \
		jsonw_key(w, key); \
		jsonw_array_begin(w); \
		vec_for_each(rows, const type *, row) \
			write; \
		jsonw_array_end(w); \
	} while (0)

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
	jsonw_key(w, key);
	jsonw_array_begin(w);
	for (size_t i = 0; i < count; i++)
		jsonw_null(w);
	jsonw_array_end(w);
}

static void write_same(struct jsonw *w, const char *key, size_t count, uint64_t value)
{
	jsonw_key(w, key);
	jsonw_array_begin(w);
	for (size_t i = 0; i < count; i++)
		jsonw_u64(w, value);
	jsonw_array_end(w);
}

static void write_false(struct jsonw *w, const char *key, size_t count)
{
	jsonw_key(w, key);
	jsonw_array_begin(w);
	for (size_t i = 0; i < count; i++)
		jsonw_bool(w, false);
	jsonw_array_end(w);
}

static void write_stacks(const struct firefox *f, struct jsonw *w)
{
	const struct stack *stacks = f->profile->stacks.rows.items;
	size_t count = f->profile->stacks.rows.count;

	table_begin(w, "stackTable");
	jsonw_key(w, "frame");
	jsonw_array_begin(w);
	for (size_t i = 0; i < count; i++)
		jsonw_u64(w, stacks[i].frame);
	jsonw_array_end(w);
	jsonw_key(w, "prefixOffset");
	jsonw_array_begin(w);
	for (size_t i = 0; i < count; i++)
		jsonw_u64(w, stacks[i].parent == NO_STACK ? 0 : i - stacks[i].parent);
	jsonw_array_end(w);
	table_end(w, count);
}

static void write_categories(const struct frames *frames, struct jsonw *w)
{
	uint8_t category, subcategory;

	jsonw_key(w, "category");
	jsonw_array_begin(w);
	vec_for_each(&frames->rows, const struct frame *, frame) {
		category_of_frame(frame->kind, &category, &subcategory);
		jsonw_u64(w, category);
	}
	jsonw_array_end(w);
	jsonw_key(w, "subcategory");
	jsonw_array_begin(w);
	vec_for_each(&frames->rows, const struct frame *, frame) {
		category_of_frame(frame->kind, &category, &subcategory);
		jsonw_u64(w, subcategory);
	}
	jsonw_array_end(w);
}

static void write_frames(const struct firefox *f, struct jsonw *w)
{
	const struct frames *frames = &f->profile->frames;
	size_t count = frames->rows.count;

	table_begin(w, "frameTable");
	COLUMN(w, "address", &f->frames, struct firefox_frame, row, jsonw_i64(w, row->address));
	COLUMN(w, "lib", &f->frames, struct firefox_frame, row, jsonw_i64(w, row->lib));
	COLUMN(w, "inlineDepth", &frames->rows, struct frame, row, jsonw_u64(w, row->inline_depth));
	write_categories(frames, w);
	COLUMN(w, "func", &f->frames, struct firefox_frame, row, jsonw_u64(w, row->func));
	COLUMN(w, "nativeSymbol", &f->frames, struct firefox_frame, row,
	       firefox_write_position(w, row->symbol));
	write_nulls(w, "innerWindowID", count);
	/* Lines count from 1, and 0 is unknown. */
	COLUMN(w, "line", &frames->rows, struct frame, row,
	       firefox_write_position(w, row->line ? row->line : NO_POSITION));
	write_nulls(w, "column", count);
	write_nulls(w, "originalLocation", count);
	table_end(w, count);
}

static void write_funcs(const struct firefox *f, struct jsonw *w)
{
	size_t count = f->funcs.count;

	table_begin(w, "funcTable");
	COLUMN(w, "name", &f->funcs, struct firefox_func, row, jsonw_u64(w, row->name));
	write_false(w, "isJS", count);
	write_false(w, "relevantForJS", count);
	COLUMN(w, "resource", &f->funcs, struct firefox_func, row, jsonw_i64(w, row->resource));
	COLUMN(w, "source", &f->funcs, struct firefox_func, row,
	       firefox_write_position(w, row->source));
	write_nulls(w, "lineNumber", count);
	write_nulls(w, "columnNumber", count);
	write_nulls(w, "originalLocation", count);
	table_end(w, count);
}

static void write_symbols(const struct firefox *f, struct jsonw *w)
{
	table_begin(w, "nativeSymbols");
	COLUMN(w, "libIndex", &f->symbols, struct firefox_symbol, row, jsonw_i64(w, row->lib));
	COLUMN(w, "address", &f->symbols, struct firefox_symbol, row, jsonw_i64(w, row->address));
	COLUMN(w, "name", &f->symbols, struct firefox_symbol, row, jsonw_u64(w, row->name));
	jsonw_key(w, "functionSize");
	jsonw_array_begin(w);
	vec_for_each(&f->symbols, const struct firefox_symbol *, row) {
		if (row->size)
			jsonw_u64(w, row->size);
		else
			jsonw_null(w);
	}
	jsonw_array_end(w);
	table_end(w, f->symbols.count);
}

static void write_resources(struct firefox *f, struct jsonw *w)
{
	size_t count = f->libs.count;

	table_begin(w, "resourceTable");
	COLUMN(w, "name", &f->libs, struct firefox_lib, row,
	       jsonw_u64(w, firefox_string(f, row->name)));
	write_nulls(w, "host", count);
	write_same(w, "type", count, RESOURCE_LIBRARY);
	table_end(w, count);
}

static void write_sources(const struct firefox *f, struct jsonw *w)
{
	size_t count = f->sources.count;

	table_begin(w, "sources");
	write_nulls(w, "id", count);
	COLUMN(w, "filename", &f->sources, uint32_t, row, jsonw_u64(w, *row));
	write_same(w, "startLine", count, 1);
	write_same(w, "startColumn", count, 1);
	write_nulls(w, "sourceMapURL", count);
	write_nulls(w, "content", count);
	table_end(w, count);

	/* Places that a source map leads to: native code has none. */
	table_begin(w, "sourceLocationTable");
	write_nulls(w, "source", 0);
	write_nulls(w, "line", 0);
	write_nulls(w, "column", 0);
	table_end(w, 0);
}

static void write_strings(const struct firefox *f, struct jsonw *w)
{
	const struct strings *strings = &f->profile->strings;

	COLUMN(w, "stringArray", &f->strings, string_id, id,
	       jsonw_string(w, strings_get(strings, *id), strings_size(strings, *id)));
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
	/* Last: whoever writes before may still use a string. */
	write_strings(f, w);
	jsonw_object_end(w);
}
