/* SPDX-License-Identifier: MIT */
/*
 * The columns of the shared tables that describe frames, as range-checked numbers. Hides the
 * differences between versions of the format.
 */
#pragma once

#include "lib/base/json/cursor.h"
#include "lib/format/firefox/read/layout.h"

/*
 * Passes the cells of a table to a function one by one. The file may store it by columns
 * ({"length": 2, "a": [1, 2]}) or by rows ({"schema": {"a": 0}, "data": [[1], [2]]}).
 */

struct grid_reader {
	const char *const *names; /* names of known columns, at most 32, NULL-terminated */
	void (*add_row)(void *ctx);
	/* Consumes the value at the cursor, which belongs to an added row. */
	void (*read)(void *ctx, struct json_cursor *s, size_t column, size_t row);
	/* Consumes a member or cell of any other name; NULL: skips it. */
	void (*skip)(void *ctx, struct json_cursor *s, struct span key);
	void *ctx;
};

struct grid {
	size_t row_count;
	size_t length; /* length stated in the file; SIZE_MAX: none */
	uint32_t columns; /* bit n: column names[n] is present */
	bool is_ragged; /* columns differ in length, so rows at the end lack some cells */
};

/* Reads the object at the cursor. The cursor fails if it is not such a table. */
void grid_read(struct grid *grid, struct json_cursor *s, const struct grid_reader *reader);

/* Maximum line or column in front-ends. */
#define PLACE_MAX INT32_MAX

/* Readers of columns. */
enum cells_use {
	CELLS_PATCHED = 1, /* all but a few columns are required */
	CELLS_SHARED = 2, /* missing columns get neutral values */
	CELLS_OWN = 4, /* a thread's own tables: invalid values also become neutral, if possible */
	CELLS_MAY_MISS = 8, /* for a single column: it is never required */
};

/* Columns for another use are NULL. */
struct cells {
	int64_t *frame_func, *frame_lib, *frame_address, *frame_depth;
	int64_t *frame_symbol, *frame_line, *frame_category, *frame_subcategory;
	int64_t *frame_flags, *func_flags; /* FRAME_… and FUNC_…; NULL: the version has none */
	int64_t *func_name, *func_resource, *func_source, *func_line, *func_column, *func_is_js;
	int64_t *func_file, *func_address; /* only in a thread's own tables */
	int64_t *symbol_name, *symbol_lib, *symbol_address, *symbol_size;
	int64_t *source_name, *source_map;
	int64_t *resource_name, *resource_host;
	int64_t *resource_lib; /* up to version 69 */
	int64_t *resource_type; /* only in a thread's own tables */
	int64_t *stack_frame, *stack_parent; /* stack_parent: row or CELL_NULL */
	int64_t *stack_category, *stack_subcategory; /* only in a thread's own tables */
};

/*
 * Fills a zeroed struct. Returns -EBADMSG if a column is invalid or a required one is missing.
 * Categories are checked if the file has any. Release it even after a failure.
 */
int cells_read(struct cells *c, const struct layout *l, enum cells_use use, size_t category_count,
	       struct error *err);
void cells_release(struct cells *c);

/* True if the name stands for an unknown function: 0x<hex> or fun_<hex>. */
bool cells_is_synthetic(const char *name);
