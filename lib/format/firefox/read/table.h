/* SPDX-License-Identifier: MIT */
/*
 * One column table of a processed profile ({"length": n, "a": [...], "b": [...]}) where it stands
 * in the text. Columns that nobody knows here are carried along: rows are written by which old row
 * they come from, and only the columns that are given anew differ from it.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_TABLE_H
#define PROF_LIB_FORMAT_FIREFOX_READ_TABLE_H

#include "lib/base/error.h"
#include "lib/base/vec.h"
#include "lib/json/writer.h"
#include "lib/json/cursor.h"

/* Values of a column of integers; all others lie between -2^53 and 2^53. */
#define CELL_NULL INT64_MIN
#define CELL_MAX ((int64_t)1 << 53)
#define CELL_KEEP (INT64_MIN + 1) /* as it is in the row that it comes from */

struct column {
	struct span key, values;
	bool is_list; /* of a value a row; all else stays as it is */
};

struct table {
	const char *name; /* for messages */
	struct span span; /* 0, 0: the profile has none */
	size_t length;
	VEC(struct column) columns; /* all members but the length */
};

void table_release(struct table *t);
/* Reads the object that begins at the cursor. -EBADMSG where it is no such table. */
int table_read(struct table *t, struct json_cursor *s, const char *name, struct error *err);
/* NULL where it has no list of that name. */
const struct column *table_column(const struct table *t, const struct json_cursor *s,
				  const char *name);

/* What a column of indexes or numbers may hold. */
struct cell_range {
	int64_t min, max; /* inclusive */
	bool or_null;
	bool or_bool; /* as 0 and 1 */
};

/*
 * The values of an integer column, to be freed; *values is NULL where there is no such column and
 * it is not `needed`. -EBADMSG where it is missing or holds something else.
 */
int table_read_cells(const struct table *t, const struct json_cursor *s, const char *name,
		     const struct cell_range *range, bool needed, int64_t **values,
		     struct error *err);

/* How many values of a column say something: neither null nor 0. */
size_t table_count_values(const struct table *t, const struct json_cursor *s, const char *name);

/* A row that comes from no old one: null wherever nothing is given. */
#define NO_ROW UINT32_MAX

struct new_column {
	const char *name;
	const int64_t *cells; /* by new row; NULL: they are written by `write` */
	/* Of one cell; false: as CELL_KEEP. */
	bool (*write)(void *ctx, struct jsonw *w, size_t row);
	void *ctx;
};

struct new_rows {
	const uint32_t *from; /* by new row: the old one, or NO_ROW */
	size_t count;
	const struct new_column *columns;
	size_t column_count; /* those that the table does not have are ignored */
};

/* The table as an object, as one value. */
void table_write(const struct table *t, const struct json_cursor *s, const struct new_rows *rows,
		 struct jsonw *w);

#endif
