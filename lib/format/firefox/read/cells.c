/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/cells.h"

#include "lib/model/meaning/origin.h"

/* Cells of a row; those after them are skipped. */
#define CELLS_MAX 64
#define UNKNOWN SIZE_MAX

/* Columns by their position in a row. */
struct shape {
	size_t columns[CELLS_MAX]; /* number of the known column; UNKNOWN: its name is in `keys` */
	struct span keys[CELLS_MAX]; /* 0, 0: no name */
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
			/* The rows precede their schema, or a column has that name. */
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

/* Values of missing columns; those of required columns are never missing. */
#define NONE (INT64_MIN + 2)

struct wanted_column {
	enum cells_use uses;
	const struct table *table;
	const char *name;
	struct cell_range range;
	int64_t missing;
	int64_t **cells;
};

/*
 * Columns whose cells have a flag in versions with the column "flags": the flag states whether the
 * cell has a value, or is itself the value, and the column is gone.
 */
static const struct flagged_column {
	const char *table, *name;
	int64_t flag;
	bool is_value;
} flagged_columns[] = {
	{"frameTable", "inlineDepth", FRAME_IS_INLINED, true},
	{"frameTable", "address", FRAME_HAS_ADDRESS, false},
	{"frameTable", "lib", FRAME_HAS_ADDRESS, false},
	{"frameTable", "category", FRAME_HAS_CATEGORY, false},
	{"frameTable", "subcategory", FRAME_HAS_CATEGORY, false},
	{"frameTable", "nativeSymbol", FRAME_HAS_SYMBOL, false},
	{"frameTable", "line", FRAME_HAS_LINE, false},
	{"funcTable", "isJS", FUNC_IS_JS, true},
	{"funcTable", "resource", FUNC_HAS_RESOURCE, false},
	{"funcTable", "source", FUNC_HAS_SOURCE, false},
	{"funcTable", "lineNumber", FUNC_HAS_LINE, false},
	{"funcTable", "columnNumber", FUNC_HAS_COLUMN, false},
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

static struct cell_range number_up_to(int64_t max)
{
	return (struct cell_range){.min = -1, .max = max, .or_null = true, .or_bool = true};
}

/* `flags`: column of the table; NULL: it has none. */
static int read_column_cells(const struct layout *l, const struct wanted_column *column,
			     const int64_t *flags, enum cells_use use, struct error *err)
{
	const struct table *table = column->table;
	const struct flagged_column *flagged =
		flags ? array_find(flagged_columns, it,
				   strcmp(it->table, column->table->name) == 0 &&
					   strcmp(it->name, column->name) == 0)
		      : NULL;
	bool is_flag = flagged && flagged->is_value;
	bool needed = column->missing == NONE ||
		      (use == CELLS_PATCHED && !(column->uses & CELLS_MAY_MISS));
	struct cell_range range = column->range;
	int ret = 0;

	range.or_any = use == CELLS_OWN;
	if (flagged) {
		range.flags = flags;
		range.flag = flagged->flag;
		range.missing = column->missing;
	}
	if (!is_flag)
		ret = table_read_cells(table, &l->cursor, column->name, &range,
				       needed && (use != CELLS_OWN || table->length), column->cells,
				       err);
	if (ret || *column->cells)
		return ret;
	*column->cells = xreallocarray(NULL, table->length + 1, sizeof(int64_t));
	for (size_t row = 0; row < table->length; row++)
		(*column->cells)[row] = is_flag ? (flags[row] & flagged->flag) != 0
						: column->missing;
	return 0;
}

/* A table's first column is always required: its text bounds the table's length. */
static int read_columns(struct cells *c, const struct layout *l,
			const struct wanted_column *columns, size_t count, enum cells_use use,
			struct error *err)
{
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++) {
		const int64_t *flags = columns[i].table == &l->frames  ? c->frame_flags
				       : columns[i].table == &l->funcs ? c->func_flags
								       : NULL;

		if (columns[i].uses & use)
			ret = read_column_cells(l, &columns[i], flags, use, err);
	}
	return ret;
}

static int read_flags(struct cells *c, const struct layout *l, enum cells_use use,
		      struct error *err)
{
	const struct cell_range any = index_of(UINT8_MAX + 1);
	const struct wanted_column columns[] = {
		{CELLS_PATCHED | CELLS_SHARED, &l->frames, "flags", any, NONE, &c->frame_flags},
		{CELLS_PATCHED | CELLS_SHARED, &l->funcs, "flags", any, NONE, &c->func_flags},
	};
	size_t count = (size_t)(l->version >= LAYOUT_VERSION_FRAME_FLAGS) +
		       (l->version >= LAYOUT_VERSION_FUNC_FLAGS);

	return read_columns(c, l, columns, count, use, err);
}

static int read_tables(struct cells *c, const struct layout *l, enum cells_use use,
		       size_t category_count, struct error *err)
{
	const enum cells_use all = CELLS_PATCHED | CELLS_SHARED | CELLS_OWN;
	const enum cells_use read = CELLS_SHARED | CELLS_OWN, shared = CELLS_PATCHED | CELLS_SHARED;
	const enum cells_use of_category = category_count ? read : CELLS_OWN;
	const struct cell_range string = index_of(l->string_count), any = index_of(CELL_MAX);
	const struct cell_range address = {
		.min = -1,
		.max = use == CELLS_OWN				  ? CELL_MAX
		       : l->version >= LAYOUT_VERSION_FRAME_FLAGS ? UINT32_MAX
								  : INT32_MAX,
		.or_null = use == CELLS_SHARED,
	};
	const struct wanted_column columns[] = {
		{all, &l->frames, "func", index_of(l->funcs.length), NONE, &c->frame_func},
		{all, &l->frames, "address", address, -1, &c->frame_address},
		{all, &l->frames, "inlineDepth", index_of(UINT8_MAX + 1), 0, &c->frame_depth},
		{read, &l->frames, "nativeSymbol", number_up_to((int64_t)l->symbols.length - 1), -1,
		 &c->frame_symbol},
		{read, &l->frames, "line", number_up_to(PLACE_MAX), -1, &c->frame_line},
		{of_category, &l->frames, "category",
		 number_up_to(use == CELLS_OWN ? CELL_MAX : (int64_t)category_count - 1), -1,
		 &c->frame_category},
		{of_category, &l->frames, "subcategory", number_up_to(UINT8_MAX), -1,
		 &c->frame_subcategory},
		{all, &l->funcs, "name", string, NONE, &c->func_name},
		{all, &l->funcs, "resource", index_or_minus_one(l->resources.length), -1,
		 &c->func_resource},
		{all, &l->funcs, "source", index_or_null(l->sources.length), CELL_NULL,
		 &c->func_source},
		{read, &l->funcs, "lineNumber", number_up_to(PLACE_MAX), -1, &c->func_line},
		{read, &l->funcs, "columnNumber", number_up_to(PLACE_MAX), -1, &c->func_column},
		{read, &l->funcs, "isJS", number_up_to(1), -1, &c->func_is_js},
		{CELLS_OWN, &l->funcs, "fileName", string, -1, &c->func_file},
		{CELLS_OWN, &l->funcs, "address", any, -1, &c->func_address},
		{shared, &l->symbols, "name", string, NONE, &c->symbol_name},
		{shared, &l->symbols, "libIndex", index_of(l->libs.rows.count), NONE,
		 &c->symbol_lib},
		{CELLS_OWN, &l->symbols, "name", string, -1, &c->symbol_name},
		{CELLS_OWN, &l->symbols, "libIndex", any, -1, &c->symbol_lib},
		{all, &l->symbols, "address", address, -1, &c->symbol_address},
		{read, &l->symbols, "functionSize", number_up_to(CELL_MAX), -1, &c->symbol_size},
		{shared, &l->sources, "filename", string, NONE, &c->source_name},
		{shared | CELLS_MAY_MISS, &l->sources, "sourceMapURL",
		 index_or_null(l->string_count), CELL_NULL, &c->source_map},
		{shared, &l->resources, "name", string, NONE, &c->resource_name},
		{shared, &l->resources, "host", index_or_null(l->string_count), CELL_NULL,
		 &c->resource_host},
		{CELLS_OWN, &l->resources, "lib", any, -1, &c->resource_lib},
		{CELLS_OWN, &l->resources, "type", any, -1, &c->resource_type},
		{all, &l->stacks, "frame", index_of(l->frames.length), NONE, &c->stack_frame},
		{CELLS_OWN, &l->stacks, "category", any, -1, &c->stack_category},
		{CELLS_OWN, &l->stacks, "subcategory", any, -1, &c->stack_subcategory},
	};

	return read_columns(c, l, columns, sizeof(columns) / sizeof(*columns), use, err);
}

/* Version 70 moved libs from resources to frames. */
static int read_libs(struct cells *c, const struct layout *l, enum cells_use use, struct error *err)
{
	bool is_of_frame = l->version >= LAYOUT_VERSION_FRAME_LIB;
	const struct wanted_column column = {
		CELLS_PATCHED | CELLS_SHARED,
		is_of_frame ? &l->frames : &l->resources,
		"lib",
		index_or_minus_one(l->libs.rows.count),
		-1,
		is_of_frame ? &c->frame_lib : &c->resource_lib,
	};
	int ret = read_columns(c, l, &column, 1, use, err);

	if (ret || is_of_frame || use == CELLS_OWN)
		return ret;
	c->frame_lib = xreallocarray(NULL, l->frames.length + 1, sizeof(*c->frame_lib));
	for (size_t i = 0; i < l->frames.length; i++) {
		int64_t resource = c->func_resource[c->frame_func[i]];

		c->frame_lib[i] = resource < 0 ? -1 : c->resource_lib[resource];
	}
	return 0;
}

/* Version 66 turned indexes of parents into distances. */
static int read_parents(struct cells *c, const struct layout *l, enum cells_use use,
			struct error *err)
{
	const struct table *t = &l->stacks;
	struct cell_range range = index_or_null(use == CELLS_OWN ? CELL_MAX : t->length);
	bool is_distance = l->version >= LAYOUT_VERSION_DISTANCE;
	int ret;

	range.or_any = use == CELLS_OWN;
	ret = table_read_cells(t, &l->cursor, is_distance ? "prefixOffset" : "prefix", &range,
			       use != CELLS_OWN || t->length, &c->stack_parent, err);
	for (size_t i = 0; i < t->length && !ret; i++) {
		int64_t *parent = &c->stack_parent[i];

		if (is_distance ? *parent == 0 : range.or_any && *parent < 0)
			*parent = CELL_NULL;
		else if (is_distance && *parent != CELL_NULL)
			*parent = (int64_t)i - *parent;
		if (*parent != CELL_NULL && (*parent < 0 || *parent >= (int64_t)i))
			ret = error_text(err, -EBADMSG, "stackTable[%zu] comes before its parent",
					 i);
	}
	return ret;
}

/*
 * Counts depths: with flags, a frame only states that it is inlined. Its depth is one more than
 * that of its caller, which has the same address.
 */
static void count_depths(struct cells *c, const struct layout *l)
{
	for (size_t i = 0; c->frame_flags && i < l->stacks.length; i++) {
		int64_t frame = c->stack_frame[i], caller;

		if (c->stack_parent[i] == CELL_NULL || !c->frame_depth[frame])
			continue;
		caller = c->stack_frame[c->stack_parent[i]];
		if (caller != frame && c->frame_lib[caller] == c->frame_lib[frame] &&
		    c->frame_address[caller] == c->frame_address[frame] &&
		    c->frame_depth[caller] < UINT8_MAX)
			c->frame_depth[frame] = c->frame_depth[caller] + 1;
	}
}

int cells_read(struct cells *c, const struct layout *l, enum cells_use use, size_t category_count,
	       struct error *err)
{
	int ret = read_flags(c, l, use, err) ?: read_tables(c, l, use, category_count, err);

	if (!ret)
		ret = read_libs(c, l, use, err);
	if (!ret)
		ret = read_parents(c, l, use, err);
	if (!ret)
		count_depths(c, l);
	return ret;
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

	if (made_code_is_description(name))
		return true;
	return *digits && !digits[strspn(digits, "0123456789abcdef")];
}
