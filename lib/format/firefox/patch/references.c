/* SPDX-License-Identifier: MIT */
/* Finds the references from threads to the shared tables. */
#include <errno.h>

#include "lib/format/firefox/patch/internal.h"

/* Bounds the cost of hostile schemas by that of the markers. */
#define SCHEMAS_MAX 500
#define FIELDS_MAX 2000

struct string_field {
	struct span type, key; /* exactly as spelled, with or without quotes */
};

struct walk {
	struct patch *patch;
	struct layout *layout;
	struct json_cursor s;
	VEC(struct span) types; /* types with a schema */
	VEC(struct string_field) fields; /* fields of markers that hold indexes of strings */
};

static bool span_equal(const struct json_cursor *s, struct span a, struct span b)
{
	return a.end - a.start == b.end - b.start &&
	       !memcmp(s->text + a.start, s->text + b.start, a.end - a.start);
}

/* Returns a string's text without its quotes; escapes stay as they are. */
static bool read_raw_string(struct json_cursor *s, struct span *inside)
{
	if (json_cursor_peek(s) != '"') {
		json_cursor_skip(s);
		return false;
	}
	json_cursor_value(s, inside);
	inside->start++;
	inside->end--;
	return true;
}

static bool is_index_format(const struct json_cursor *s, struct span format)
{
	return span_is(s, format, "unique-string") || span_is(s, format, "flow-id") ||
	       span_is(s, format, "terminating-flow-id");
}

static void read_field(struct walk *w, struct span type)
{
	struct json_cursor_list list = {0};
	struct string_field field = {.type = type};
	bool has_key = false, is_index = false;
	struct span name, format;

	if (json_cursor_peek(&w->s) != '{') {
		json_cursor_skip(&w->s);
		return;
	}
	while (json_cursor_member(&w->s, &list, &name)) {
		if (span_is(&w->s, name, "key"))
			has_key = read_raw_string(&w->s, &field.key);
		else if (span_is(&w->s, name, "format"))
			is_index = read_raw_string(&w->s, &format) &&
				   is_index_format(&w->s, format);
		else
			json_cursor_skip(&w->s);
	}
	if (has_key && is_index)
		vec_push(&w->fields, field);
}

static void read_fields(struct walk *w, struct span fields, struct span type)
{
	struct json_cursor_list list = {0};

	w->s = json_cursor_within(&w->layout->cursor, fields);
	if (json_cursor_peek(&w->s) != '[')
		return;
	while (json_cursor_element(&w->s, &list))
		read_field(w, type);
}

/* Name and fields may come in any order. */
static void read_schema(struct walk *w)
{
	struct json_cursor_list list = {0};
	struct span key, type = {0}, fields = {0};
	bool has_type = false;
	struct json_cursor after;

	if (json_cursor_peek(&w->s) != '{') {
		json_cursor_skip(&w->s);
		return;
	}
	while (json_cursor_member(&w->s, &list, &key)) {
		if (span_is(&w->s, key, "name"))
			has_type = read_raw_string(&w->s, &type);
		else if (span_is(&w->s, key, "fields") || span_is(&w->s, key, "data"))
			json_cursor_value(&w->s, &fields);
		else
			json_cursor_skip(&w->s);
	}
	after = w->s;
	if (has_type) {
		vec_push(&w->types, type);
		read_fields(w, fields, type);
	}
	w->s = after;
}

static void read_schemas(struct walk *w, struct span schemas)
{
	struct json_cursor_list list = {0};

	w->s = json_cursor_within(&w->layout->cursor, schemas);
	if (json_cursor_peek(&w->s) != '[')
		return;
	while (json_cursor_element(&w->s, &list)) {
		read_schema(w);
		if (w->types.count > SCHEMAS_MAX || w->fields.count > FIELDS_MAX) {
			w->layout->has_unknown = true;
			vec_clear(&w->fields);
			return;
		}
	}
}

static size_t index_count(const struct walk *w, enum reference_kind kind)
{
	bool is_stack = kind == REFERENCE_STACK || kind == REFERENCE_STACKS;

	return is_stack ? w->layout->stacks.length : w->layout->string_count;
}

/* Fails for all but an index in range or null. */
static void check_index(struct walk *w, size_t count)
{
	int64_t value;

	if (json_cursor_null(&w->s))
		return;
	if (json_cursor_i64(&w->s, &value) && (value < 0 || (uint64_t)value >= count))
		w->s.failed = true;
}

static void add_index(struct walk *w, enum reference_kind kind)
{
	struct reference reference = {.kind = kind};

	json_cursor_peek(&w->s);
	reference.at.start = w->s.at;
	check_index(w, index_count(w, kind));
	reference.at.end = w->s.at;
	vec_push(&w->patch->references, reference);
}

static void add_indexes(struct walk *w, enum reference_kind kind)
{
	struct reference reference = {.kind = kind};
	size_t count = index_count(w, kind);
	struct json_cursor_list list = {0};

	json_cursor_peek(&w->s);
	reference.at.start = w->s.at;
	while (json_cursor_element(&w->s, &list))
		check_index(w, count);
	reference.at.end = w->s.at;
	vec_push(&w->patch->references, reference);
}

/* Walks an object whose "stack" refers to stacks: one, or a list with one per sample. */
static void walk_stack(struct walk *w, enum reference_kind kind)
{
	struct json_cursor_list list = {0};
	struct span key;

	if (json_cursor_peek(&w->s) != '{') {
		json_cursor_skip(&w->s);
		return;
	}
	while (json_cursor_member(&w->s, &list, &key)) {
		if (!span_is(&w->s, key, "stack"))
			json_cursor_skip(&w->s);
		else if (kind == REFERENCE_STACKS)
			add_indexes(w, kind);
		else
			add_index(w, kind);
	}
}

static bool is_string_field(const struct walk *w, struct span type, struct span key)
{
	vec_for_each(&w->fields, const struct string_field *, field) {
		if (span_equal(&w->s, field->key, key) && span_equal(&w->s, field->type, type))
			return true;
	}
	return false;
}

static bool has_schema(const struct walk *w, struct span type)
{
	vec_for_each(&w->types, const struct span *, known) {
		if (span_equal(&w->s, *known, type))
			return true;
	}
	return false;
}

static void walk_field(struct walk *w, struct span type, struct span key)
{
	char c = json_cursor_peek(&w->s);
	bool is_number = c == '-' || (c >= '0' && c <= '9');

	if (span_is(&w->s, key, "cause"))
		walk_stack(w, REFERENCE_STACK);
	else if (is_number && is_string_field(w, type, key))
		add_index(w, REFERENCE_STRING);
	else
		json_cursor_skip(&w->s);
}

/* The type decides how the other fields are read, but may come after them. */
static void walk_data(struct walk *w)
{
	struct span value, key, type = {0};
	struct json_cursor_list first = {0}, second = {0};
	struct json_cursor after;

	if (json_cursor_peek(&w->s) != '{') {
		json_cursor_skip(&w->s);
		return;
	}
	json_cursor_value(&w->s, &value);
	after = w->s;
	w->s = json_cursor_within(&after, value);
	while (json_cursor_member(&w->s, &first, &key)) {
		if (span_is(&w->s, key, "type"))
			read_raw_string(&w->s, &type);
		else
			json_cursor_skip(&w->s);
	}
	if (!has_schema(w, type))
		w->layout->has_unknown = true;
	w->s = json_cursor_within(&after, value);
	while (json_cursor_member(&w->s, &second, &key))
		walk_field(w, type, key);
	after.failed |= w->s.failed;
	w->s = after;
}

static bool is_known(const struct json_cursor *s, struct span key, const char *const *names)
{
	while (*names && !span_is(s, key, *names))
		names++;
	return *names;
}

static void walk_markers(struct walk *w)
{
	static const char *const others[] = {"startTime", "endTime",  "phase", "category",
					     "length",	  "threadId", NULL};
	struct json_cursor_list list = {0}, rows;
	struct span key;

	while (json_cursor_member(&w->s, &list, &key)) {
		if (span_is(&w->s, key, "name")) {
			add_indexes(w, REFERENCE_STRINGS);
		} else if (span_is(&w->s, key, "data")) {
			rows = (struct json_cursor_list){0};
			while (json_cursor_element(&w->s, &rows))
				walk_data(w);
		} else {
			w->layout->has_unknown |= !is_known(&w->s, key, others);
			json_cursor_skip(&w->s);
		}
	}
}

static void walk_thread(struct walk *w)
{
	static const char *const samples[] = {"samples", "nativeAllocations", "jsAllocations",
					      NULL};
	static const char *const others[] = {"pid",
					     "tid",
					     "registerTime",
					     "unregisterTime",
					     "processStartupTime",
					     "processShutdownTime",
					     "pausedRanges",
					     "userContextId",
					     "usedInnerWindowIDs",
					     NULL};
	struct json_cursor_list list = {0};
	struct span key;
	char c;

	while (json_cursor_member(&w->s, &list, &key)) {
		c = json_cursor_peek(&w->s);
		if (is_known(&w->s, key, samples)) {
			walk_stack(w, REFERENCE_STACKS);
		} else if (span_is(&w->s, key, "markers")) {
			walk_markers(w);
		} else {
			/* An index can only be a number or in a list. */
			if (!strchr("\"tfn", c) && !is_known(&w->s, key, others))
				w->layout->has_unknown = true;
			json_cursor_skip(&w->s);
		}
	}
}

int patch_find_references(struct patch *r, struct error *err)
{
	struct walk w = {.patch = r, .layout = &r->layout};
	struct json_cursor_list list = {0};
	size_t count = 0;
	int ret = 0;

	read_schemas(&w, r->layout.schemas);
	w.s = json_cursor_within(&r->layout.cursor, r->layout.threads);
	while (json_cursor_element(&w.s, &list)) {
		walk_thread(&w);
		count++;
	}
	if (!count || w.s.failed)
		ret = error_text(err, -EBADMSG, "threads[%zu] is damaged, at byte %zu",
				 count ? count - 1 : 0, w.s.at);
	vec_release(&w.types);
	vec_release(&w.fields);
	return ret;
}
