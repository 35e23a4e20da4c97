/* SPDX-License-Identifier: MIT */
/*
 * One column table of a processed profile ({"length": n, "a": [...], "b": [...]}) in place in the
 * text. Unknown columns are carried along: a new table is given by the old row of each new row, and
 * by the columns that change.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_TABLE_H
#define PROF_LIB_FORMAT_FIREFOX_READ_TABLE_H

#include "lib/base/error.h"
#include "lib/base/vec.h"
#include "lib/base/json/writer.h"
#include "lib/base/json/cursor.h"

/* Special values of integer columns. All others lie between -2^53 and 2^53. */
#define CELL_NULL INT64_MIN
#define CELL_MAX ((int64_t)1 << 53)
#define CELL_KEEP (INT64_MIN + 1) /* unchanged from the old row */

struct column {
	struct span key, values;
	bool is_list; /* has a value per row; other members are copied */
};

struct table {
	const char *name; /* for messages */
	struct span span; /* 0, 0: missing */
	size_t length;
	VEC(struct column) columns; /* all members but the length */
};

void table_release(struct table *t);
/* Reads the object at the cursor. Returns -EBADMSG if it is not such a table. */
int table_read(struct table *t, struct json_cursor *s, const char *name, struct error *err);
/* Returns NULL if the table has no list of that name. */
const struct column *table_column(const struct table *t, const struct json_cursor *s,
				  const char *name);

/* Allowed values of a column of indexes or numbers. */
struct cell_range {
	int64_t min, max; /* inclusive */
	bool or_null;
	bool or_bool; /* booleans, read as 0 and 1, are allowed */
};

/*
 * Reads an integer column; free *values. Sets it to NULL if the column is missing and not `needed`.
 * Returns -EBADMSG if a needed column is missing or a value is not allowed.
 */
int table_read_cells(const struct table *t, const struct json_cursor *s, const char *name,
		     const struct cell_range *range, bool needed, int64_t **values,
		     struct error *err);

/* Number of values of a column that are neither null nor 0. */
size_t table_count_values(const struct table *t, const struct json_cursor *s, const char *name);

/* A new row without an old one: null in columns that are not given. */
#define NO_ROW UINT32_MAX

struct new_column {
	const char *name;
	const int64_t *cells; /* by new row; NULL: call `write` */
	/* Writes one cell. Returns false for CELL_KEEP. */
	bool (*write)(void *ctx, struct jsonw *w, size_t row);
	void *ctx;
};

struct new_rows {
	const uint32_t *from; /* old row by new row, or NO_ROW */
	size_t count;
	const struct new_column *columns;
	size_t column_count; /* columns that the table does not have are ignored */
};

/* Writes the table as one value, an object. */
void table_write(const struct table *t, const struct json_cursor *s, const struct new_rows *rows,
		 struct jsonw *w);

#endif
