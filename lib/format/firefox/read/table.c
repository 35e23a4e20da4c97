/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/table.h"

#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

/* Rows have 32-bit ids. */
#define LENGTH_MAX ((int64_t)UINT32_MAX - 1)
#define COLUMNS_MAX 64

void table_release(struct table *t)
{
	vec_release(&t->columns);
}

static size_t count_elements(struct json_cursor *s)
{
	struct json_cursor_list list = {0};
	size_t count = 0;

	while (json_cursor_element(s, &list)) {
		json_cursor_skip(s);
		count++;
	}
	return count;
}

static int check_length(const struct table *t, const struct json_cursor *s,
			const struct column *column, size_t count, struct error *err)
{
	if (count == t->length || !column->is_list)
		return 0;
	return error_text(err, -EBADMSG, "%s.%.*s has %zu values instead of %zu", t->name,
			  (int)(column->key.end - column->key.start < 40
					? column->key.end - column->key.start
					: 40),
			  s->text + column->key.start, count, t->length);
}

int table_read(struct table *t, struct json_cursor *s, const char *name, struct error *err)
{
	size_t counts[COLUMNS_MAX];
	struct json_cursor_list list = {0};
	int64_t length = -1;
	struct span key;
	int ret = 0;

	t->name = name;
	json_cursor_peek(s);
	t->span.start = s->at;
	while (json_cursor_member(s, &list, &key)) {
		struct column column = {.key = key};

		if (span_is(s, key, "length")) {
			json_cursor_i64(s, &length);
			continue;
		}
		if (t->columns.count == COLUMNS_MAX)
			return error_text(err, -EBADMSG, "%s has too many columns", name);
		column.is_list = json_cursor_peek(s) == '[';
		column.values.start = s->at;
		counts[t->columns.count] = column.is_list ? count_elements(s) : json_cursor_skip(s);
		column.values.end = s->at;
		vec_push(&t->columns, column);
	}
	t->span.end = s->at;
	if (s->failed || length < 0 || length > LENGTH_MAX)
		return error_text(err, -EBADMSG, "%s is no table", name);
	t->length = (size_t)length;
	for (size_t i = 0; i < t->columns.count && !ret; i++)
		ret = check_length(t, s, &t->columns.items[i], counts[i], err);
	return ret;
}

const struct column *table_column(const struct table *t, const struct json_cursor *s,
				  const char *name)
{
	vec_for_each(&t->columns, const struct column *, column) {
		if (column->is_list && span_is(s, column->key, name))
			return column;
	}
	return NULL;
}

static bool read_cell(struct json_cursor *s, const struct cell_range *range, int64_t *value)
{
	if (range->or_null && json_cursor_null(s)) {
		*value = CELL_NULL;
		return true;
	}
	if (range->or_bool && strchr("tf", json_cursor_peek(s))) {
		bool is_set = false;

		json_cursor_bool(s, &is_set);
		*value = is_set;
		return !s->failed;
	}
	return json_cursor_i64(s, value) && *value >= range->min && *value <= range->max;
}

int table_read_cells(const struct table *t, const struct json_cursor *s, const char *name,
		     const struct cell_range *range, bool needed, int64_t **values,
		     struct error *err)
{
	const struct column *column = table_column(t, s, name);
	_cleanup_free_ int64_t *cells = NULL;
	struct json_cursor_list list = {0};
	struct json_cursor at;
	size_t row = 0;

	*values = NULL;
	if (!column && needed)
		return error_text(err, -EBADMSG, "%s.%s is missing", t->name, name);
	if (!column)
		return 0;
	cells = xreallocarray(NULL, t->length + 1, sizeof(*cells));
	at = json_cursor_within(s, column->values);
	while (json_cursor_element(&at, &list)) {
		if (!read_cell(&at, range, &cells[row]))
			return error_text(err, -EBADMSG, "%s.%s[%zu] points nowhere", t->name, name,
					  row);
		row++;
	}
	*values = steal(cells);
	return 0;
}

size_t table_count_values(const struct table *t, const struct json_cursor *s, const char *name)
{
	const struct column *column = table_column(t, s, name);
	struct json_cursor_list list = {0};
	struct json_cursor at;
	struct span value;
	size_t count = 0;

	if (!column)
		return 0;
	at = json_cursor_within(s, column->values);
	while (json_cursor_element(&at, &list)) {
		json_cursor_value(&at, &value);
		count += !span_is(s, value, "null") && !span_is(s, value, "0");
	}
	return count;
}

/* Returns the place of each value of a column. */
static struct span *find_cells(const struct table *t, const struct json_cursor *s,
			       const struct column *column)
{
	struct span *cells = xreallocarray(NULL, t->length + 1, sizeof(*cells));
	struct json_cursor at = json_cursor_within(s, column->values);
	struct json_cursor_list list = {0};

	for (size_t row = 0; json_cursor_element(&at, &list); row++)
		json_cursor_value(&at, &cells[row]);
	return cells;
}

static const struct new_column *find_new(const struct json_cursor *s, const struct new_rows *rows,
					 struct span key)
{
	for (size_t i = 0; i < rows->column_count; i++) {
		if (span_is(s, key, rows->columns[i].name))
			return &rows->columns[i];
	}
	return NULL;
}

static bool write_new_cell(const struct new_column *column, struct jsonw *w, size_t row)
{
	if (!column)
		return false;
	if (!column->cells)
		return column->write(column->ctx, w, row);
	if (column->cells[row] == CELL_KEEP)
		return false;
	if (column->cells[row] == CELL_NULL)
		jsonw_null(w);
	else
		jsonw_i64(w, column->cells[row]);
	return true;
}

static void write_span(const struct json_cursor *s, struct span span, struct jsonw *w)
{
	jsonw_raw_begin(w);
	jsonw_raw(w, s->text + span.start, span.end - span.start);
}

static void write_column(const struct table *t, const struct json_cursor *s,
			 const struct column *column, const struct new_rows *rows, struct jsonw *w)
{
	const struct new_column *anew = find_new(s, rows, column->key);
	_cleanup_free_ struct span *cells = find_cells(t, s, column);

	jsonw_array_begin(w);
	for (size_t row = 0; row < rows->count; row++) {
		if (write_new_cell(anew, w, row))
			continue;
		if (rows->from[row] == NO_ROW)
			jsonw_null(w);
		else
			write_span(s, cells[rows->from[row]], w);
	}
	jsonw_array_end(w);
}

void table_write(const struct table *t, const struct json_cursor *s, const struct new_rows *rows,
		 struct jsonw *w)
{
	jsonw_object_begin(w);
	vec_for_each(&t->columns, const struct column *, column) {
		_cleanup_free_ char *key = xstrndup(s->text + column->key.start,
						    column->key.end - column->key.start);

		jsonw_key(w, key);
		if (column->is_list)
			write_column(t, s, column, rows, w);
		else
			write_span(s, column->values, w);
	}
	jsonw_key(w, "length");
	jsonw_u64(w, rows->count);
	jsonw_object_end(w);
}
