/* SPDX-License-Identifier: MIT */
/* Reads the data of markers, by their schemas. */
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/firefox/read/grid.h"
#include "lib/format/firefox/read/internal.h"

int64_t import_index(struct json_cursor *s, size_t count)
{
	int64_t row = 0;

	if (json_cursor_null(s))
		return -1;
	if (json_cursor_i64(s, &row) && (row < 0 || (uint64_t)row >= count))
		s->failed = true;
	return s->failed ? -1 : row;
}

/* Sets the cause by the row of a stack; -1: no stack. */
static void set_cause(const struct import *r, int64_t row, struct marker_value *value)
{
	if (row >= 0)
		*value = marker_stack(r->cause_ids ? r->cause_ids[row] : (stack_id)row);
}

static void read_cause(struct import *r, struct json_cursor *s, struct marker *marker,
		       struct marker_value *value)
{
	struct json_cursor_list list = {0};
	struct span key;

	if (json_cursor_peek(s) != '{') {
		json_cursor_skip(s);
		return;
	}
	while (json_cursor_member(s, &list, &key)) {
		if (span_is(s, key, "stack")) {
			set_cause(r, import_index(s, r->stack_count), value);
		} else if (span_is(s, key, "time")) {
			marker->cause_time = import_moment(r, import_time(s));
		} else if (span_is(s, key, "tid")) {
			marker->cause_tid = (uint32_t)(import_time(s) / 1000000);
		} else {
			json_cursor_skip(s);
		}
	}
}

/* The samples of a cause in older files: a thread of its own, with one sample. */
struct cause_reader {
	struct import *reader;
	int64_t stack;
	uint64_t time;
	bool has_row;
};

static void add_cause_row(void *ctx)
{
	(void)ctx;
}

static void read_cause_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct cause_reader *of = ctx;

	if (row)
		json_cursor_skip(s);
	else if (column)
		of->time = import_time(s);
	else
		of->stack = import_index(s, of->reader->stack_count);
}

/* Reads such a thread. Anything else by the name "stack" is no cause. */
static bool read_cause_thread(struct import *r, struct json_cursor *s, struct marker *marker,
			      struct marker_value *value)
{
	static const char *const names[] = {"stack", "time", NULL};
	struct cause_reader of = {.reader = r, .stack = -1};
	const struct grid_reader reader = {names, add_cause_row, read_cause_value, NULL, &of};
	struct json_cursor_list list = {0};
	struct span key;
	struct grid grid;

	if (json_cursor_peek(s) != '{')
		return false;
	while (json_cursor_member(s, &list, &key)) {
		if (span_is(s, key, "samples") && json_cursor_peek(s) == '{')
			grid_read(&grid, s, &reader);
		else if (span_is(s, key, "tid"))
			marker->cause_tid = (uint32_t)(import_time(s) / 1000000);
		else
			json_cursor_skip(s);
	}
	set_cause(r, of.stack, value);
	if (of.stack >= 0)
		marker->cause_time = import_moment(r, of.time);
	return true;
}

static string_id read_string_value(struct import *r, struct json_cursor *s, bool is_row)
{
	char first = json_cursor_peek(s);
	struct span value;
	int64_t row;

	if (json_cursor_null(s))
		return NO_STRING;
	if (first == '"')
		return import_string(r, s);
	if (is_row) {
		row = import_index(s, r->string_count);
		return row < 0 ? NO_STRING : r->strings[row];
	}
	/* Other values become texts as they are spelled. */
	json_cursor_value(s, &value);
	return strings_intern_sized(&r->profile->strings, s->text + value.start,
				    value.end - value.start);
}

/* Processes have pids that are spelled like those of threads[]. */
static struct marker_value read_pid(struct import *r, struct json_cursor *s)
{
	_cleanup_free_ char *text = json_cursor_text(s);
	struct marker_value value = {.type = FIELD_PROCESS_ID};

	if (text_to_u64(text, 10, &value.number))
		return value;
	r->counts->unread[UNREAD_MEMBERS]++;
	return (struct marker_value){0};
}

static struct marker_value read_field_value(struct import *r, struct json_cursor *s, uint8_t type,
					    bool is_row)
{
	struct marker_value value = {.type = type};
	int64_t number = 0;

	if (type == FIELD_STRING) {
		value.string = read_string_value(r, s, is_row);
	} else if (type == FIELD_PROCESS_ID && json_cursor_peek(s) == '"') {
		value = read_pid(r, s);
	} else if (!strchr("-0123456789", json_cursor_peek(s))) {
		r->counts->unread[UNREAD_MEMBERS] += import_skip(s);
		value.type = FIELD_NONE;
	} else if (type == FIELD_INTEGER || type == FIELD_BYTES || type == FIELD_PROCESS_ID ||
		   type == FIELD_THREAD_ID) {
		r->counts->unread[UNREAD_MEMBERS] += !import_integer(s, &number);
		value.number = (uint64_t)number;
	} else {
		value.number = import_time(s);
		if (type == FIELD_TIME)
			value.number = import_moment(r, value.number);
	}
	return value;
}

/* The type of an event is a field in older files, whose own type has its place. */
static void read_type(struct import *r, struct json_cursor *s, const struct marker *marker)
{
	const struct markers *markers = &r->profile->markers;
	const struct schema *schema = schemas_get(&markers->schemas, marker->schema);
	string_id type = import_string(r, s);
	string_id key = strings_find(&r->profile->strings, "eventType", strlen("eventType"));
	uint32_t field = schema_find_field(&markers->schemas, schema, key);

	if (key != NO_STRING && type != schema->name && field < schema->field_count &&
	    strcmp(strings_get(&r->profile->strings, type), "tracing") != 0)
		*marker_value(markers, marker, field) = marker_string(type);
}

void import_marker_data(struct import *r, struct json_cursor *s, struct marker *marker)
{
	struct markers *markers = &r->profile->markers;
	const struct schema *schema = schemas_get(&markers->schemas, marker->schema);
	const struct schema_field *fields = schema_fields(&markers->schemas, schema);
	struct json_cursor_list list = {0};
	struct span key;

	if (json_cursor_peek(s) != '{')
		return;
	while (json_cursor_member(s, &list, &key)) {
		uint32_t field = 0;

		while (field < schema->field_count &&
		       !span_is(s, key, strings_get(&r->profile->strings, fields[field].key)))
			field++;
		if (field < schema->field_count)
			*marker_value(markers, marker, field) =
				read_field_value(r, s, fields[field].type,
						 r->row_fields.items[marker->schema] >> field & 1);
		else if (span_is(s, key, "cause"))
			read_cause(r, s, marker, marker_value(markers, marker, field));
		else if (span_is(s, key, "stack") &&
			 read_cause_thread(r, s, marker, marker_value(markers, marker, field)))
			continue;
		else if (span_is(s, key, "type"))
			read_type(r, s, marker);
		else
			r->counts->unread[UNREAD_MEMBERS] += import_skip(s);
	}
}
