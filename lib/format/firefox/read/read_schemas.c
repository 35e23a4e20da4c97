/* SPDX-License-Identifier: MIT */
#include "lib/base/cleanup.h"
#include "lib/format/firefox/read/internal.h"

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
		/* Up to version 54, and in Gecko profiles, the fields were called so. */
		else if (span_is(s, key, "fields") || span_is(s, key, "data"))
			schema.field_count = read_fields(r, s, fields, &row_fields);
		else
			r->counts->unread[UNREAD_MEMBERS] += import_skip(s);
	}
	/* A better one comes with the first marker. */
	if (!schema.field_count &&
	    strcmp(strings_get(&r->profile->strings, schema.name), "Network") == 0)
		return;
	check_labels(&r->profile->strings, &schema, fields);
	if (schema.name != NO_STRING)
		id = schemas_intern(&r->profile->markers.schemas, &schema, fields);
	if (id == NO_SCHEMA)
		r->counts->unread[UNREAD_MEMBERS]++;
	else if (id == r->row_fields.count)
		vec_push(&r->row_fields, row_fields);
}

void import_schema_list(struct import *r, struct json_cursor *s)
{
	struct json_cursor_list list = {0};

	if (json_cursor_peek(s) != '[')
		return;
	while (json_cursor_element(s, &list))
		read_schema(r, s);
}

void import_schemas(struct import *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.schemas);

	if (r->layout.schemas.end)
		import_schema_list(r, &s);
}
