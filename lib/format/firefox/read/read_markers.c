/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/firefox/read/internal.h"

enum { PHASE_INSTANT, PHASE_INTERVAL };

struct field_draft {
	struct schema_field field;
	bool is_row; /* the value is an index of stringArray */
};

/* Text and number formats of other writers: their values are kept, their display is not. */
static const struct field_format {
	const char *name;
	enum field_type type;
	bool is_row; /* the value is an index of stringArray */
} field_formats[] = {
	{"unique-string", FIELD_STRING, true},
	{"string", FIELD_STRING, false},
	{"sanitized-string", FIELD_STRING, false},
	{"file-path", FIELD_STRING, false},
	{"url", FIELD_STRING, false},
	{"integer", FIELD_INTEGER, false},
	{"pid", FIELD_PROCESS_ID, false},
	{"tid", FIELD_THREAD_ID, false},
	{"bytes", FIELD_BYTES, false},
	{"duration", FIELD_DURATION, false},
	{"milliseconds", FIELD_DURATION, false},
	{"time", FIELD_TIME, false},
	{"percentage", FIELD_PERCENTAGE, false},
};

static void read_format(struct import *r, struct json_cursor *s, struct field_draft *field)
{
	_cleanup_free_ char *name = json_cursor_text(s);

	for (size_t i = 0; i < sizeof(field_formats) / sizeof(*field_formats); i++) {
		if (strcmp(name, field_formats[i].name) != 0)
			continue;
		field->field.type = field_formats[i].type;
		field->is_row = field_formats[i].is_row;
		return;
	}
	r->counts->unread[UNREAD_MEMBERS]++;
}

/* Returns false if a profile has no place for its values. */
static bool read_field(struct import *r, struct json_cursor *s, struct field_draft *draft)
{
	struct schema_field *field = &draft->field;
	struct json_cursor_list list = {0};
	struct span key;

	*draft = (struct field_draft){.field = {.key = NO_STRING, .label = NO_STRING}};
	if (json_cursor_peek(s) != '{')
		return !json_cursor_skip(s);
	while (json_cursor_member(s, &list, &key)) {
		if (span_is(s, key, "key"))
			field->key = import_string(r, s);
		else if (span_is(s, key, "label"))
			field->label = import_string(r, s);
		else if (span_is(s, key, "format"))
			read_format(r, s, draft);
		else
			json_cursor_skip(s);
	}
	return strings_size(&r->profile->strings, field->key) && field->type != FIELD_NONE;
}

static uint32_t read_fields(struct import *r, struct json_cursor *s, struct schema_field *fields,
			    uint32_t *row_fields)
{
	struct json_cursor_list list = {0};
	uint32_t count = 0;

	*row_fields = 0;
	if (json_cursor_peek(s) != '[')
		return !json_cursor_skip(s);
	while (json_cursor_element(s, &list)) {
		struct field_draft draft;

		if (!read_field(r, s, &draft))
			continue;
		if (count == SCHEMA_FIELDS_MAX) {
			r->counts->unread[UNREAD_MEMBERS]++;
			continue;
		}
		*row_fields |= (uint32_t)draft.is_row << count;
		fields[count++] = draft.field;
	}
	return count;
}

static uint32_t read_places(struct json_cursor *s)
{
	static const char *const places[] = {"marker-chart",	"marker-table", "timeline-overview",
					     "timeline-memory", "timeline-ipc", "timeline-fileio",
					     "timeline-network"};
	struct json_cursor_list list = {0};
	uint32_t shown = 0;

	if (json_cursor_peek(s) != '[')
		return !json_cursor_skip(s);
	while (json_cursor_element(s, &list)) {
		_cleanup_free_ char *place = json_cursor_text(s);

		for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
			shown |= strcmp(place, places[i]) == 0 ? 1u << i : 0;
	}
	return shown;
}

/* Returns the label, or NO_STRING if it is made of a field that is not there. */
static string_id check_label(const struct strings *strings, string_id label,
			     const struct schema_field *fields, uint32_t count)
{
	static const char reference[] = "{marker.data.";
	const char *at = strings_get(strings, label);

	while ((at = strstr(at, reference))) {
		size_t size = strcspn(at += sizeof(reference) - 1, "}");
		string_id key = strings_find(strings, at, size);
		uint32_t i = 0;

		while (i < count && fields[i].key != key)
			i++;
		if (i == count)
			return NO_STRING;
	}
	return label;
}

static void check_labels(const struct strings *strings, struct schema *schema,
			 const struct schema_field *fields)
{
	string_id *const labels[] = {&schema->chart_label, &schema->table_label,
				     &schema->tooltip_label};

	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
		*labels[i] = check_label(strings, *labels[i], fields, schema->field_count);
}

static void read_schema(struct import *r, struct json_cursor *s)
{
	struct schema schema = {
		.name = NO_STRING,
		.chart_label = NO_STRING,
		.table_label = NO_STRING,
		.tooltip_label = NO_STRING,
	};
	struct schema_field fields[SCHEMA_FIELDS_MAX];
	struct json_cursor_list list = {0};
	schema_id id = NO_SCHEMA;
	uint32_t row_fields = 0;
	struct span key;

	if (json_cursor_peek(s) != '{') {
		json_cursor_skip(s);
		return;
	}
	while (json_cursor_member(s, &list, &key)) {
		if (span_is(s, key, "name"))
			schema.name = import_string(r, s);
		else if (span_is(s, key, "chartLabel"))
			schema.chart_label = import_string(r, s);
		else if (span_is(s, key, "tableLabel"))
			schema.table_label = import_string(r, s);
		else if (span_is(s, key, "tooltipLabel"))
			schema.tooltip_label = import_string(r, s);
		else if (span_is(s, key, "display"))
			schema.shown = read_places(s);
		else if (span_is(s, key, "fields"))
			schema.field_count = read_fields(r, s, fields, &row_fields);
		else
			r->counts->unread[UNREAD_MEMBERS] += import_skip(s);
	}
	check_labels(&r->profile->strings, &schema, fields);
	if (schema.name != NO_STRING)
		id = schemas_intern(&r->profile->markers.schemas, &schema, fields);
	if (id == NO_SCHEMA)
		r->counts->unread[UNREAD_MEMBERS]++;
	else if (id == r->row_fields.count)
		vec_push(&r->row_fields, row_fields);
}

void import_schemas(struct import *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.schemas);
	struct json_cursor_list list = {0};

	if (!r->layout.schemas.end || json_cursor_peek(&s) != '[')
		return;
	while (json_cursor_element(&s, &list))
		read_schema(r, &s);
}

/* A marker of a thread whose schema is not known yet. */
struct draft {
	string_id name, category;
	uint64_t start, end; /* since the start of the file */
	int64_t phase;
	struct span data;
};

struct drafts {
	VEC(struct draft) rows;
};

/* Reads the index of one of `count` rows; -1: null. Fails if there is no such row. */
static int64_t read_index(struct json_cursor *s, size_t count)
{
	int64_t row = 0;

	if (json_cursor_null(s))
		return -1;
	if (json_cursor_i64(s, &row) && (row < 0 || (uint64_t)row >= count))
		s->failed = true;
	return s->failed ? -1 : row;
}

static void read_value(struct import *r, struct json_cursor *s, struct span key,
		       struct draft *draft)
{
	int64_t row;

	if (span_is(s, key, "name")) {
		row = read_index(s, r->layout.string_count);
		draft->name = row < 0 ? NO_STRING : r->strings[row];
	} else if (span_is(s, key, "category")) {
		row = read_index(s, UINT8_MAX);
		/* The default category means none. */
		if (row > 0 && (size_t)row < r->profile->categories.count)
			draft->category = strings_intern(&r->profile->strings,
							 r->profile->categories.items[row].name);
	} else if (span_is(s, key, "startTime")) {
		draft->start = import_time(s);
	} else if (span_is(s, key, "endTime")) {
		draft->end = import_time(s);
	} else if (span_is(s, key, "phase")) {
		draft->phase = read_index(s, UINT8_MAX);
	} else if (span_is(s, key, "data")) {
		json_cursor_value(s, &draft->data);
	} else {
		json_cursor_skip(s);
	}
}

/* Makes the rows from whichever column comes first. */
static void read_column(struct import *r, struct json_cursor *s, struct span key,
			struct drafts *drafts)
{
	struct json_cursor_list list = {0};
	size_t row = 0;

	while (json_cursor_element(s, &list)) {
		if (row == drafts->rows.count)
			vec_push(&drafts->rows,
				 (struct draft){.name = NO_STRING, .category = NO_STRING});
		read_value(r, s, key, &drafts->rows.items[row++]);
	}
}

static void read_cause(struct import *r, struct json_cursor *s, struct marker *marker,
		       struct marker_value *value)
{
	struct json_cursor_list list = {0};
	struct span key;
	int64_t number = 0;

	if (json_cursor_peek(s) != '{') {
		json_cursor_skip(s);
		return;
	}
	while (json_cursor_member(s, &list, &key)) {
		if (span_is(s, key, "stack")) {
			number = read_index(s, r->layout.stacks.length);
			if (number >= 0)
				*value = marker_stack((stack_id)number);
		} else if (span_is(s, key, "time")) {
			marker->cause_time = r->profile->meta.start_ns + import_time(s);
		} else if (span_is(s, key, "tid")) {
			marker->cause_tid = (uint32_t)(import_time(s) / 1000000);
		} else {
			json_cursor_skip(s);
		}
	}
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
		row = read_index(s, r->layout.string_count);
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
		value.number += type == FIELD_TIME ? r->profile->meta.start_ns : 0;
	}
	return value;
}

static void read_data(struct import *r, struct json_cursor *s, struct marker *marker)
{
	struct markers *markers = &r->profile->markers;
	const struct schema *schema = schemas_get(&markers->schemas, marker->schema);
	const struct schema_field *fields = schema_fields(&markers->schemas, schema);
	struct json_cursor_list list = {0};
	struct span key;

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
		else
			r->counts->unread[UNREAD_MEMBERS] += span_is(s, key, "type")
								     ? !json_cursor_skip(s)
								     : import_skip(s);
	}
}

/* Returns NO_SCHEMA if the file has no schema for the marker. */
static schema_id find_schema(struct import *r, struct json_cursor data)
{
	struct json_cursor_list list = {0};
	schema_id schema = NO_SCHEMA;
	struct span key;

	if (json_cursor_peek(&data) != '{')
		return NO_SCHEMA;
	while (json_cursor_member(&data, &list, &key)) {
		if (span_is(&data, key, "type"))
			schema = schemas_find(&r->profile->markers.schemas,
					      import_string(r, &data));
		else
			json_cursor_skip(&data);
	}
	return schema;
}

/* Rejects halves of intervals and markers without a schema: a profile has no place for them. */
static bool add_marker(struct import *r, const struct draft *draft, struct profile_thread *thread)
{
	struct json_cursor data = json_cursor_within(&r->layout.cursor, draft->data);
	uint64_t zero = r->profile->meta.start_ns, start = zero + draft->start;
	bool is_interval = draft->phase == PHASE_INTERVAL && draft->end > draft->start;
	schema_id schema = find_schema(r, data);
	struct marker marker;

	if (schema == NO_SCHEMA || draft->phase < PHASE_INSTANT || draft->phase > PHASE_INTERVAL) {
		r->counts->unread[UNREAD_MARKERS]++;
		return true;
	}
	marker = markers_make(&r->profile->markers, schema, start,
			      is_interval ? zero + draft->end : start);
	marker.name = draft->name;
	marker.category = draft->category;
	read_data(r, &data, &marker);
	vec_push(&thread->markers, marker);
	return !data.failed;
}

int import_markers(struct import *r, struct span table, struct profile_thread *thread,
		   struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, table);
	struct json_cursor_list list = {0};
	struct drafts drafts = {0};
	bool is_valid = true;
	struct span key;

	if (!table.end || json_cursor_peek(&s) != '{')
		return 0;
	while (json_cursor_member(&s, &list, &key)) {
		if (json_cursor_peek(&s) == '[')
			read_column(r, &s, key, &drafts);
		else
			json_cursor_skip(&s);
	}
	for (size_t i = 0; i < drafts.rows.count && is_valid && !s.failed; i++)
		is_valid = add_marker(r, &drafts.rows.items[i], thread);
	vec_release(&drafts.rows);
	if (!is_valid || s.failed)
		return error_text(err, -EBADMSG, "a marker points nowhere");
	return 0;
}
