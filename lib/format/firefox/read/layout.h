/* SPDX-License-Identifier: MIT */
/*
 * Locates the parts of a processed profile in its text: the shared tables, the members of meta, and
 * the lists that readers iterate over. Only this file depends on the format's versions, for readers
 * and patchers alike.
 */
#pragma once

#include "lib/base/json/cursor.h"
#include "lib/base/json/writer.h"
#include "lib/format/firefox/version.h"
#include "lib/model/tables/profile.h"

/*
 * One column table of a processed profile ({"length": n, "a": [...], "b": [...]}) in place in the
 * text. Unknown columns are preserved: a new table is defined by the old row of each new row, and
 * by the changed columns.
 */

/* Special values of integer columns. All others are between -2^53 and 2^53. */
#define CELL_NULL INT64_MIN
#define CELL_MAX ((int64_t)1 << 53)
#define CELL_KEEP (INT64_MIN + 1) /* same value as in the old row */

struct column {
	struct span key, values;
	bool is_list; /* the column has a value per row; other members are copied */
};

struct table {
	const char *name; /* name for messages */
	struct span span; /* 0, 0: table missing */
	size_t length;
	VEC(struct column) columns; /* all members except the length */
};

/* Returns NULL if the table has no list of that name. */
const struct column *table_column(const struct table *t, const struct json_cursor *s,
				  const char *name);

/* Allowed values of a column of indexes or numbers. */
struct cell_range {
	int64_t min, max; /* range, inclusive */
	bool or_null;
	bool or_bool; /* booleans are accepted, as 0 and 1 */
	bool or_any; /* any other value is accepted, as -1 */
	/*
	 * By row: a cell without the bit `flag` is not read, but counts as `missing`. NULL: all are
	 * read.
	 */
	const int64_t *flags;
	int64_t flag, missing;
};

/* Reads -1 for anything but booleans and numbers from 0 to max. */
int64_t cell_or_minus_one(struct json_cursor *s, int64_t max);
/*
 * Reads an integer column; free *values. Sets it to NULL if the column is missing and not `needed`.
 * Returns -EBADMSG if a needed column is missing or a value is not allowed.
 */
int table_read_cells(const struct table *t, const struct json_cursor *s, const char *name,
		     const struct cell_range *range, bool needed, int64_t **values,
		     struct error *err);

/* Returns the number of values of a column that are neither null nor 0. */
size_t table_count_values(const struct table *t, const struct json_cursor *s, const char *name);

/* Marks a new row without an old one: null in columns that are not given. */
#define NO_ROW UINT32_MAX

struct new_column {
	const char *name;
	const int64_t *cell; /* cell of the first new row; NULL: call `write` */
	/* Writes one cell that was null. Returns false for CELL_KEEP. */
	bool (*write)(void *ctx, struct jsonw *w, size_t row);
	void *ctx;
};

struct new_rows {
	/* Old row of the first new row, or NO_ROW. NULL: each row keeps its position. */
	const uint32_t *from;
	size_t size; /* distance in memory between two new rows, in `cell` and in `from` */
	size_t count;
	const struct new_column *columns;
	size_t column_count; /* columns missing in the table are ignored */
};

/* Writes the table as one value, an object. */
void table_write(const struct table *t, const struct json_cursor *s, const struct new_rows *rows,
		 struct jsonw *w);

/* Range of supported versions. */
#define LAYOUT_VERSION_MIN 60 /* first version with one set of tables for all threads */
#define LAYOUT_VERSION_MAX FIREFOX_VERSION_MAX
/* First versions in which ... */
#define LAYOUT_VERSION_DISTANCE 66 /* from here on, stacks hold the distance to their parent */
/* Frames, instead of their functions' resources, refer to their lib. */
#define LAYOUT_VERSION_FRAME_LIB 70
/* Flags state which cells of frames, or functions, have a value; the others were null or -1. */
#define LAYOUT_VERSION_FRAME_FLAGS 71
#define LAYOUT_VERSION_FUNC_FLAGS 75
/* The unknown size of a symbol is -1 instead of null. */
#define LAYOUT_VERSION_SYMBOL_SIZE 74

struct layout_lib {
	char *name, *path, *debug_path, *arch; /* owned; "" if missing */
	uint8_t build_id[20];
	uint8_t build_id_size;
	bool has_breakpad_id; /* build_id is only a prefix, taken from a breakpadId */
	/* Addresses of a mapped part of it, and the part's file offset. */
	uint64_t start, end, offset; /* 0, 0: missing */
};

struct layout_libs {
	VEC(struct layout_lib) rows;
};

/* Appends the libraries listed at the cursor to `libs`. Release `libs` also after a failure. */
int layout_read_libs(struct layout_libs *libs, struct json_cursor *s, struct error *err);
void layout_libs_release(struct layout_libs *libs);

struct layout {
	struct json_cursor cursor; /* cursor over the whole text, copied to read a part */
	int64_t version;
	/* Values of members of the file and of meta; 0, 0: missing. */
	struct span meta, threads, counters, overhead, log;
	struct span lib_list, shared;
	struct span symbolicated, not_supported, extra, categories, os, schemas;
	struct layout_libs libs;
	struct table stacks, frames, funcs, symbols, resources, sources;
	struct span strings; /* the array of strings */
	size_t string_count;
	size_t other_count; /* number of unknown, nonempty members */
	/* Unknown parts may refer to strings. */
	bool has_unknown;
};

/*
 * Borrows the text. Returns -EBADMSG if it is not a processed profile or damaged, -ENOTSUP for
 * another version.
 */
int layout_read(struct layout *l, const char *text, size_t size, struct error *err);
/*
 * Does the same for any version up to LAYOUT_VERSION_MAX. Before LAYOUT_VERSION_MIN, when threads
 * had tables of their own, finds only the other members.
 */
int layout_find(struct layout *l, const char *text, size_t size, struct error *err);
/*
 * Before LAYOUT_VERSION_MIN: reads the tables of the thread at the cursor, which replace those of
 * the previous thread. Missing ones are empty.
 */
int layout_read_own_tables(struct layout *l, struct json_cursor s, struct error *err);
/* Reads the shared tables. Call after layout_find(), from version LAYOUT_VERSION_MIN on. */
int layout_read_tables(struct layout *l, struct error *err);
/* Finds the members of meta, at l->meta. */
int layout_read_meta(struct layout *l, struct error *err);
void layout_release(struct layout *l);

module_id layout_lib_add(const struct layout_lib *lib, struct profile *p);
/* Reads a string's text, or any other value as it is spelled. The caller frees it. */
char *layout_read_value(struct json_cursor *s);
/* Reads 0 for anything but numbers. Truncates fractions. */
uint64_t layout_read_number(struct json_cursor *s);
