/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/grid.h"

#include <string.h>

/* Cells of a row; those after them are skipped. */
#define CELLS_MAX 64
#define UNKNOWN SIZE_MAX

/* Columns by their place in a row. */
struct shape {
	size_t columns[CELLS_MAX]; /* UNKNOWN: `keys` says which */
	struct span keys[CELLS_MAX]; /* 0, 0: nameless */
};

static size_t find_column(const struct grid_reader *reader, const struct json_cursor *s,
			  struct span key)
{
	for (size_t i = 0; reader->names[i]; i++) {
		if (span_is(s, key, reader->names[i]))
			return i;
	}
	return UNKNOWN;
}

static void skip(const struct grid_reader *reader, struct json_cursor *s, struct span key)
{
	if (reader->skip && key.end)
		reader->skip(reader->ctx, s, key);
	else
		json_cursor_skip(s);
}

static void read_column(struct grid *grid, struct json_cursor *s, const struct grid_reader *reader,
			size_t column)
{
	bool is_first = !grid->columns;
	struct json_cursor_list list = {0};
	size_t row = 0;

	while (json_cursor_element(s, &list)) {
		if (row == grid->row_count) {
			grid->is_ragged |= !is_first;
			reader->add_row(reader->ctx);
			grid->row_count++;
		}
		reader->read(reader->ctx, s, column, row++);
	}
	grid->is_ragged |= row != grid->row_count;
	grid->columns |= 1u << column;
}

static void read_schema(struct shape *shape, struct json_cursor *s,
			const struct grid_reader *reader, struct grid *grid)
{
	struct json_cursor_list list = {0};
	struct span key;
	int64_t place;

	while (json_cursor_member(s, &list, &key)) {
		if (!json_cursor_i64(s, &place) || place < 0 || place >= CELLS_MAX)
			continue;
		shape->columns[place] = find_column(reader, s, key);
		shape->keys[place] = key;
		if (shape->columns[place] != UNKNOWN)
			grid->columns |= 1u << shape->columns[place];
	}
}

static void read_rows(struct grid *grid, struct json_cursor *s, const struct grid_reader *reader,
		      const struct shape *shape)
{
	struct json_cursor_list rows = {0};

	while (json_cursor_element(s, &rows)) {
		struct json_cursor_list cells = {0};

		reader->add_row(reader->ctx);
		for (size_t place = 0; json_cursor_element(s, &cells); place++) {
			size_t column = place < CELLS_MAX ? shape->columns[place] : UNKNOWN;

			if (column != UNKNOWN)
				reader->read(reader->ctx, s, column, grid->row_count);
			else
				skip(reader, s,
				     place < CELLS_MAX ? shape->keys[place] : (struct span){0});
		}
		grid->row_count++;
	}
}

static void read_member(struct grid *grid, struct json_cursor *s, const struct grid_reader *reader,
			struct span key)
{
	size_t column = json_cursor_peek(s) == '[' ? find_column(reader, s, key) : UNKNOWN;

	if (span_is(s, key, "length") && column == UNKNOWN) {
		struct json_cursor value = *s;
		int64_t length;

		if (json_cursor_i64(&value, &length) && length >= 0)
			grid->length = (size_t)length;
	}
	if (column == UNKNOWN || grid->columns >> column & 1)
		skip(reader, s, key);
	else
		read_column(grid, s, reader, column);
}

void grid_read(struct grid *grid, struct json_cursor *s, const struct grid_reader *reader)
{
	struct shape shape = {0};
	struct json_cursor_list list = {0};
	bool has_schema = false;
	struct span key, data = {0}, data_key = {0};
	struct json_cursor inside;

	*grid = (struct grid){.length = SIZE_MAX};
	for (size_t i = 0; i < CELLS_MAX; i++)
		shape.columns[i] = UNKNOWN;
	while (json_cursor_member(s, &list, &key)) {
		if (span_is(s, key, "schema") && json_cursor_peek(s) == '{' && !has_schema) {
			has_schema = true;
			read_schema(&shape, s, reader, grid);
		} else if (!span_is(s, key, "data") || json_cursor_peek(s) != '[') {
			read_member(grid, s, reader, key);
		} else if (has_schema && !data.end) {
			data.end = 1;
			read_rows(grid, s, reader, &shape);
		} else {
			/* Rows before their schema, or a column of that name. */
			data_key = key;
			json_cursor_value(s, &data);
		}
	}
	if (!data_key.end || s->failed)
		return;
	inside = json_cursor_within(s, data);
	if (has_schema)
		read_rows(grid, &inside, reader, &shape);
	else
		read_member(grid, &inside, reader, data_key);
	s->failed |= inside.failed;
}
