/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/cells.h"
#include "lib/format/firefox/read/read_internal.h"

/* Reads the data of markers according to their schemas. */

/* Reads an index of one of `count` rows; -1: null. Fails if it is out of range. */
static int64_t import_index(struct json_cursor *s, size_t count)
{
	int64_t row = 0;

	if (json_cursor_null(s))
		return -1;
	if (json_cursor_i64(s, &row) && (row < 0 || (uint64_t)row >= count))
		s->failed = true;
	return s->failed ? -1 : row;
}

/* Sets the cause to the stack in a row; -1: no stack. */
static void set_cause(const struct import *r, int64_t row, struct marker_value *value)
{
	if (row >= 0)
		*value = marker_stack(r->cause_ids[row]);
}

static void read_cause(struct import *r, struct json_cursor *s, struct marker *marker,
		       struct marker_value *value)
{
	json_for_each_member_if_any(s, key) {
		if (span_is(s, key, "stack")) {
			set_cause(r, import_index(s, r->stack_count), value);
		} else if (span_is(s, key, "time")) {
			marker->cause_time = import_moment(r, import_time(s));
		} else if (span_is(s, key, "tid")) {
			marker->cause_tid = (uint32_t)(import_time(s) / 1000000);
		}
	}
}

/* The cause's samples in older files: a thread object with one sample. */
struct cause_reader {
	struct import *reader;
	int64_t stack;
	uint64_t time;
};

static void add_cause_row(void *ctx)
{
}

static void read_cause_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct cause_reader *of = ctx;

	if (!row && column)
		of->time = import_time(s);
	else if (!row)
		of->stack = import_index(s, of->reader->stack_count);
}

/* Reads such a thread. Any other value of "stack" is not a cause. */
static bool read_cause_thread(struct import *r, struct json_cursor *s, struct marker *marker,
			      struct marker_value *value)
{
	static const char *const names[] = {"stack", "time", NULL};
	struct cause_reader of = {.reader = r, .stack = -1};
	const struct grid_reader reader = {names, add_cause_row, read_cause_value, NULL, &of};
	struct grid grid;

	if (json_cursor_peek(s) != '{')
		return false;
	json_for_each_member(s, key) {
		if (span_is(s, key, "samples") && json_cursor_peek(s) == '{')
			grid_read(&grid, s, &reader);
		else if (span_is(s, key, "tid"))
			marker->cause_tid = (uint32_t)(import_time(s) / 1000000);
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
	/* Other values become strings in their original spelling. */
	json_cursor_value(s, &value);
	return strings_intern_sized(&r->profile->strings, s->text + value.start,
				    value.end - value.start);
}

/* Processes are identified by the pid's spelling in threads[]. */
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

/* In older files, the type of an event is a field stored as the marker's type. */
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

/* Sets the values defined by the schema, and the cause. */
static void import_marker_data(struct import *r, struct json_cursor *s, struct marker *marker)
{
	struct markers *markers = &r->profile->markers;
	const struct schema *schema = schemas_get(&markers->schemas, marker->schema);
	const struct schema_field *fields = schema_fields(&markers->schemas, schema);

	json_for_each_member_if_any(s, key) {
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

struct field_draft {
	struct schema_field field;
	bool is_row; /* the value is an index of stringArray */
};

/* String and number formats of other writers: values are kept, their display is not. */
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

/* An unknown kind stands for all kinds. */
static uint8_t read_personal(struct json_cursor *s)
{
	const uint8_t all = (1u << FIREFOX_PERSONAL_COUNT) - 1;
	uint8_t personal = 0;

	json_for_each_element_if_any(s, row) {
		_cleanup_free_ char *kind = json_cursor_text(s);
		size_t i = 0;

		while (i < FIREFOX_PERSONAL_COUNT && strcmp(kind, firefox_personal[i]) != 0)
			i++;
		personal |= i < FIREFOX_PERSONAL_COUNT ? (uint8_t)(1u << i) : all;
	}
	return personal;
}

/* Returns false if a profile cannot represent the field's values. */
static bool read_field(struct import *r, struct json_cursor *s, struct field_draft *draft)
{
	struct schema_field *field = &draft->field;

	*draft = (struct field_draft){.field = {.key = NO_STRING, .label = NO_STRING}};
	if (json_cursor_peek(s) != '{')
		return 0;
	json_for_each_member(s, key) {
		if (span_is(s, key, "key"))
			field->key = import_string(r, s);
		else if (span_is(s, key, "label"))
			field->label = import_string(r, s);
		else if (span_is(s, key, "format"))
			read_format(r, s, draft);
		else if (span_is(s, key, "containsPII"))
			field->personal = read_personal(s);
	}
	return strings_size(&r->profile->strings, field->key) && field->type != FIELD_NONE;
}

static uint32_t read_fields(struct import *r, struct json_cursor *s, struct schema_field *fields,
			    uint32_t *row_fields)
{
	uint32_t count = 0;

	*row_fields = 0;
	json_for_each_element_if_any(s, i) {
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
	uint32_t shown = 0;

	json_for_each_element_if_any(s, row) {
		_cleanup_free_ char *place = json_cursor_text(s);

		for (size_t i = 0; i < FIREFOX_PLACE_COUNT; i++)
			shown |= strcmp(place, firefox_places[i]) == 0 ? 1u << i : 0;
	}
	return shown;
}

/* Returns the label, or NO_STRING if it refers to a missing field. */
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
	schema_id id = NO_SCHEMA;
	uint32_t row_fields = 0;

	if (json_cursor_peek(s) != '{')
		return;
	json_for_each_member(s, key) {
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
		/* Name of the fields up to version 54 and in Gecko profiles. */
		else if (span_is(s, key, "fields") || span_is(s, key, "data"))
			schema.field_count = read_fields(r, s, fields, &row_fields);
		else
			r->counts->unread[UNREAD_MEMBERS] += import_skip(s);
	}
	/* The first marker yields a better one. */
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
	json_for_each_element_if_any(s, i)
		read_schema(r, s);
}

void import_schemas(struct import *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.schemas);

	if (r->layout.schemas.end)
		import_schema_list(r, &s);
}

/* Reads a thread's markers. Starts and ends of intervals are paired as in front-ends. */

/* Reads a table of markers. */
struct marker_reader {
	struct import *reader;
	VEC(struct marker_draft) rows;
};

enum { NAME, CATEGORY, START, END, PHASE, DATA, TIME };

static const char *const columns[] = {"name",  "category", "startTime", "endTime",
				      "phase", "data",	   "time",	NULL};

static void add_row(void *ctx)
{
	struct marker_reader *of = ctx;

	vec_push(&of->rows, (struct marker_draft){
				    .name = NO_STRING, .category = NO_STRING, .type = NO_STRING});
}

static void read_category(struct import *r, struct json_cursor *s, struct marker_draft *draft)
{
	int64_t row = import_index(s, UINT8_MAX);

	/* The default category means none. */
	if (row > 0 && (size_t)row < r->profile->categories.count)
		draft->category = strings_intern(&r->profile->strings,
						 r->profile->categories.items[row].name);
}

static void read_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct marker_reader *of = ctx;
	struct import *r = of->reader;
	struct marker_draft *draft = &of->rows.items[row];
	int64_t name;

	switch (column) {
	case NAME:
		name = import_index(s, r->string_count);
		draft->name = name < 0 ? NO_STRING : r->strings[name];
		break;
	case CATEGORY:
		read_category(r, s, draft);
		break;
	case START:
		draft->start = import_instant(s);
		break;
	case END:
		draft->end = import_instant(s);
		break;
	case PHASE:
		draft->phase = import_index(s, UINT8_MAX);
		break;
	case TIME:
		draft->start = draft->end = import_instant(s);
		break;
	default:
		json_cursor_value(s, &draft->data);
	}
}

static void read_draft_type(struct import *r, struct marker_draft *draft)
{
	struct json_cursor data = json_cursor_within(&r->layout.cursor, draft->data);

	json_for_each_member_if_any(&data, key) {
		if (span_is(&data, key, "type") && json_cursor_peek(&data) == '"')
			draft->type = import_string(r, &data);
	}
}

static schema_id find_schema(struct import *r, const struct marker_draft *draft)
{
	struct json_cursor data = json_cursor_within(&r->layout.cursor, draft->data);
	schema_id schema = draft->type == NO_STRING
				   ? NO_SCHEMA
				   : schemas_find(&r->profile->markers.schemas, draft->type);
	_cleanup_free_ char *type = NULL;

	if (schema != NO_SCHEMA)
		return schema;
	type = xstrdup(draft->type == NO_STRING ? ""
						: strings_get(&r->profile->strings, draft->type));
	return import_schema_for(r, type, data);
}

/* Adds a marker with the data of its end, and of its start if that has data. */
static bool add_marker(struct import *r, const struct marker_draft *draft, struct span before,
		       struct profile_thread *thread)
{
	struct json_cursor data = json_cursor_within(&r->layout.cursor, before);
	uint64_t start = import_moment(r, draft->start), end = import_moment(r, draft->end);
	schema_id schema = find_schema(r, draft);
	struct marker marker;
	bool is_valid;

	if (end == CLOCK_NO_TIME || (end < start && start != CLOCK_NO_TIME))
		end = start;
	if (schema == NO_SCHEMA) {
		r->counts->unread[UNREAD_MARKERS]++;
		return true;
	}
	marker = markers_make(&r->profile->markers, schema, start, end);
	marker.name = draft->name;
	marker.category = draft->category;
	if (before.end)
		import_marker_data(r, &data, &marker);
	is_valid = !data.failed;
	data = json_cursor_within(&r->layout.cursor, draft->data);
	if (draft->data.end)
		import_marker_data(r, &data, &marker);
	vec_push(&thread->markers, marker);
	return is_valid && !data.failed;
}

/* Starts of intervals whose ends have not been read yet. */
struct open_markers {
	VEC(struct marker_draft) rows;
	VEC(uint32_t) below; /* by row: previous start with the same name, or INDEX_NONE */
	VEC(uint32_t) tops; /* by name: latest start, or INDEX_NONE */
	VEC(string_id) names;
	struct index index; /* index of names */
};

INDEX_EQUAL(name_equal, struct open_markers, names, *a == *b)

/* Returns the index of a name among those of open markers. */
static uint32_t open_name(struct open_markers *open, string_id name)
{
	uint32_t id = index_find(&open->index, hash_u64(name), name_equal, open, &name);

	if (id != INDEX_NONE)
		return id;
	vec_push(&open->names, name);
	vec_push(&open->tops, INDEX_NONE);
	index_add(&open->index, hash_u64(name), (uint32_t)open->names.count - 1);
	return (uint32_t)open->names.count - 1;
}

static void open_marker(struct open_markers *open, const struct marker_draft *draft)
{
	uint32_t name = open_name(open, draft->name);
	uint32_t *top = &open->tops.items[name];

	vec_push(&open->below, *top);
	*top = (uint32_t)open->rows.count;
	vec_push(&open->rows, *draft);
}

/*
 * Ends the interval of that name that started last. Without a start, the interval starts with the
 * recording.
 */
static bool close_marker(struct import *r, struct open_markers *open, struct marker_draft *end,
			 struct profile_thread *thread)
{
	uint32_t name = open_name(open, end->name);
	uint32_t *top = &open->tops.items[name];
	uint64_t first = samples_first_time(&thread->samples);
	const struct marker_draft *begin = *top == INDEX_NONE ? NULL : &open->rows.items[*top];
	struct span before = {0};
	bool is_valid;
	size_t count;

	if (begin) {
		open->rows.items[*top].phase = PHASE_INSTANT;
		*top = open->below.items[*top];
		before = begin->data;
		end->start = begin->start;
		if (end->type == NO_STRING)
			end->type = begin->type;
	} else {
		end->start = end->end;
	}
	count = thread->markers.count;
	is_valid = add_marker(r, end, before, thread);
	if (!begin && thread->markers.count > count && vec_last(&thread->markers).start > first)
		vec_last(&thread->markers).start = first;
	return is_valid;
}

/* Ends open intervals at the end of the thread. */
static bool close_rest(struct import *r, struct open_markers *open, struct profile_thread *thread)
{
	uint64_t last = samples_last_time(&thread->samples) + r->profile->meta.interval_ns;
	bool is_valid = true;

	vec_for_each(&open->rows, struct marker_draft *, draft) {
		size_t count = thread->markers.count;

		if (draft->phase != PHASE_START || !is_valid)
			continue;
		draft->end = draft->start;
		is_valid = add_marker(r, draft, (struct span){0}, thread);
		if (thread->markers.count > count && samples_count(&thread->samples) &&
		    vec_last(&thread->markers).end < last)
			vec_last(&thread->markers).end = last;
	}
	return is_valid;
}

static void open_markers_release(struct open_markers *open)
{
	vec_release(&open->rows);
	vec_release(&open->below);
	vec_release(&open->tops);
	vec_release(&open->names);
	index_release(&open->index);
}

static bool take_draft(struct import *r, struct marker_draft *draft, struct open_markers *open,
		       struct profile_thread *thread)
{
	switch (draft->phase) {
	case PHASE_INSTANT:
		draft->end = draft->start;
		return add_marker(r, draft, (struct span){0}, thread);
	case PHASE_INTERVAL:
		return add_marker(r, draft, (struct span){0}, thread);
	case PHASE_START:
		open_marker(open, draft);
		return true;
	case PHASE_END:
		return close_marker(r, open, draft, thread);
	default:
		r->counts->unread[UNREAD_MARKERS]++;
		return true;
	}
}

static uint64_t last_time(const struct marker_draft *draft)
{
	return draft->end && draft->end != CLOCK_NO_TIME ? draft->end : draft->start;
}

/* Orders by end, as the front-end sorts the unsorted markers of Gecko. */
ORDER(compare_drafts, struct marker_draft,
      COMPARE(last_time(a), last_time(b)) ?: COMPARE(a->data.start, b->data.start))

static bool take_drafts(struct import *r, struct marker_reader *of, bool has_phases,
			struct profile_thread *thread)
{
	struct open_markers open = {0};
	bool is_valid = true;

	vec_for_each(&of->rows, struct marker_draft *, draft) {
		if (!has_phases)
			draft->phase = -1;
		read_draft_type(r, draft);
		import_upgrade_marker(r, draft);
	}
	if (r->is_gecko)
		vec_sort(&of->rows, compare_drafts);
	vec_for_each(&of->rows, struct marker_draft *, draft)
		is_valid = is_valid && take_draft(r, draft, &open, thread);
	is_valid = is_valid && close_rest(r, &open, thread);
	open_markers_release(&open);
	return is_valid;
}

int import_markers(struct import *r, struct span table, struct profile_thread *thread,
		   struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, table);
	struct marker_reader of = {.reader = r};
	const struct grid_reader reader = {columns, add_row, read_value, NULL, &of};
	struct grid grid;
	bool is_valid;

	if (!table.end || json_cursor_peek(&s) != '{')
		return 0;
	grid_read(&grid, &s, &reader);
	/* Front-ends read at most `length` markers. */
	if (r->read_own_tables && grid.length < of.rows.count)
		of.rows.count = grid.length;
	is_valid = !s.failed && take_drafts(r, &of, grid.columns & 1u << PHASE, thread);
	vec_release(&of.rows);
	if (!is_valid)
		return error_text(err, -EBADMSG, "a marker has an index out of range");
	return 0;
}
