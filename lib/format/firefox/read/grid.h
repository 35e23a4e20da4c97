/* SPDX-License-Identifier: MIT */
/*
 * A table whose cells are handed to a function one by one, whether the file has it by columns
 * ({"length": 2, "a": [1, 2]}) or by rows ({"schema": {"a": 0}, "data": [[1], [2]]}).
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_GRID_H
#define PROF_LIB_FORMAT_FIREFOX_READ_GRID_H

#include "lib/base/json/cursor.h"

struct grid_reader {
	const char *const *names; /* known columns, at most 32; NULL-terminated */
	void (*add_row)(void *ctx);
	/* Consumes the value at the cursor, of a row that was added. */
	void (*read)(void *ctx, struct json_cursor *s, size_t column, size_t row);
	/* Consumes a member of any other name, or a cell of one; NULL: skips it. */
	void (*skip)(void *ctx, struct json_cursor *s, struct span key);
	void *ctx;
};

struct grid {
	size_t row_count;
	size_t length; /* as the file has it; SIZE_MAX: not told */
	uint32_t columns; /* bit n: names[n] is there */
	bool is_ragged; /* columns differ in length; rows at the end lack some */
};

/* Reads the object at the cursor. The cursor fails if it is no such table. */
void grid_read(struct grid *grid, struct json_cursor *s, const struct grid_reader *reader);

#endif
