/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/cells.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"

/* Cells of a row; those after them are skipped. */
#define CELLS_MAX 64
#define UNKNOWN SIZE_MAX

/* Columns by their position in a row. */
struct shape {
	size_t columns[CELLS_MAX]; /* UNKNOWN: its name is in `keys` */
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
}

static void read_column(struct grid *grid, struct json_cursor *s, const struct grid_reader *reader,
			size_t column)
{
	bool is_first = !grid->columns;
	size_t row = 0;

	json_for_each_element(s, i) {
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
	int64_t place;

	json_for_each_member(s, key) {
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
	json_for_each_element(s, i) {
		reader->add_row(reader->ctx);
		json_for_each_element(s, place) {
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
	bool has_schema = false;
	struct span data = {0}, data_key = {0};
	struct json_cursor inside;

	*grid = (struct grid){.length = SIZE_MAX};
	for (size_t i = 0; i < CELLS_MAX; i++)
		shape.columns[i] = UNKNOWN;
	json_for_each_member(s, key) {
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

/* The column has no default. */
#define NONE (INT64_MIN + 2)

struct wanted_column {
	const struct table *table;
	const char *name;
	struct cell_range range;
	int64_t missing; /* value of a missing column; NONE: the column is required */
	int64_t **cells;
};

static struct cell_range index_of(size_t count)
{
	return (struct cell_range){.min = 0, .max = (int64_t)count - 1};
}

static struct cell_range index_or_null(size_t count)
{
	return (struct cell_range){.min = 0, .max = (int64_t)count - 1, .or_null = true};
}

static struct cell_range index_or_minus_one(size_t count)
{
	return (struct cell_range){.min = -1, .max = (int64_t)count - 1, .or_null = true};
}

static int64_t *new_cells(size_t count, int64_t value)
{
	int64_t *cells = xreallocarray(NULL, count + 1, sizeof(*cells));

	for (size_t i = 0; i < count; i++)
		cells[i] = value;
	return cells;
}

/* A table's first column is always required: its text bounds the table's length. */
static int read_columns(const struct layout *l, const struct wanted_column *columns, size_t count,
			bool needed, struct error *err)
{
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++) {
		const struct wanted_column *column = &columns[i];

		ret = table_read_cells(column->table, &l->cursor, column->name, &column->range,
				       needed || column->missing == NONE, column->cells, err);
		if (!ret && !*column->cells)
			*column->cells = new_cells(column->table->length, column->missing);
	}
	return ret;
}

static int read_tables(struct cells *c, const struct layout *l, bool needed, struct error *err)
{
	const struct cell_range string = index_of(l->string_count);
	const struct cell_range address = {.min = -1, .max = INT32_MAX, .or_null = !needed};
	const struct cell_range depth = {.min = 0, .max = 255};
	const struct wanted_column columns[] = {
		{&l->frames, "func", index_of(l->funcs.length), NONE, &c->frame_func},
		{&l->frames, "address", address, -1, &c->frame_address},
		{&l->frames, "inlineDepth", depth, 0, &c->frame_depth},
		{&l->funcs, "name", string, NONE, &c->func_name},
		{&l->funcs, "resource", index_or_minus_one(l->resources.length), -1,
		 &c->func_resource},
		{&l->funcs, "source", index_or_null(l->sources.length), CELL_NULL, &c->func_source},
		{&l->symbols, "name", string, NONE, &c->symbol_name},
		{&l->symbols, "libIndex", index_of(l->libs.rows.count), NONE, &c->symbol_lib},
		{&l->symbols, "address", address, -1, &c->symbol_address},
		{&l->sources, "filename", string, NONE, &c->source_name},
		{&l->resources, "name", string, NONE, &c->resource_name},
		{&l->resources, "host", index_or_null(l->string_count), CELL_NULL,
		 &c->resource_host},
		{&l->stacks, "frame", index_of(l->frames.length), NONE, &c->stack_frame},
	};

	return read_columns(l, columns, sizeof(columns) / sizeof(*columns), needed, err);
}

/* Version 70 moved libs from resources to frames. */
static int read_libs(struct cells *c, const struct layout *l, bool needed, struct error *err)
{
	bool is_of_frame = l->version >= LAYOUT_VERSION_FRAME_LIB;
	const struct wanted_column column = {
		is_of_frame ? &l->frames : &l->resources,	"lib",
		index_or_minus_one(l->libs.rows.count),		-1,
		is_of_frame ? &c->frame_lib : &c->resource_lib,
	};
	int ret = read_columns(l, &column, 1, needed, err);

	if (ret || is_of_frame)
		return ret;
	c->frame_lib = new_cells(l->frames.length, -1);
	for (size_t i = 0; i < l->frames.length; i++) {
		int64_t resource = c->func_resource[c->frame_func[i]];

		if (resource >= 0)
			c->frame_lib[i] = c->resource_lib[resource];
	}
	return 0;
}

/* Version 66 turned indexes of parents into distances. */
static int read_parents(struct cells *c, const struct layout *l, struct error *err)
{
	const struct table *t = &l->stacks;
	const struct cell_range range = index_or_null(t->length);
	bool is_distance = l->version >= LAYOUT_VERSION_DISTANCE;
	int ret = table_read_cells(t, &l->cursor, is_distance ? "prefixOffset" : "prefix", &range,
				   true, &c->stack_parent, err);

	for (size_t i = 0; i < t->length && !ret; i++) {
		int64_t *parent = &c->stack_parent[i];

		if (is_distance && *parent == 0)
			*parent = CELL_NULL;
		else if (is_distance && *parent != CELL_NULL)
			*parent = (int64_t)i - *parent;
		if (*parent != CELL_NULL && (*parent < 0 || *parent >= (int64_t)i))
			ret = error_text(err, -EBADMSG, "stackTable[%zu] comes before its parent",
					 i);
	}
	return ret;
}

int cells_read(struct cells *c, const struct layout *l, bool needed, struct error *err)
{
	const struct cell_range map = index_or_null(l->string_count);
	int ret = read_tables(c, l, needed, err);

	if (!ret)
		ret = table_read_cells(&l->sources, &l->cursor, "sourceMapURL", &map, false,
				       &c->source_map, err);
	if (!ret)
		ret = read_libs(c, l, needed, err);
	return ret ? ret : read_parents(c, l, err);
}

void cells_release(struct cells *c)
{
	for (int64_t **cells = (int64_t **)c; cells < (int64_t **)(c + 1); cells++)
		free(*cells);
}

bool cells_is_synthetic(const char *name)
{
	const char *digits = text_starts_with(name, "0x")     ? name + 2
			     : text_starts_with(name, "fun_") ? name + 4
							      : "";

	return *digits && !digits[strspn(digits, "0123456789abcdef")];
}
