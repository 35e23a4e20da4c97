/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/profile/run_markers.h"
#include "lib/sanitize/internal.h"

/* Kinds of texts that markers carry. */
enum text_kind {
	TEXT_UNKNOWN, /* left out */
	TEXT_WORDS, /* the program's own, or a name that somebody chose for others to read */
	TEXT_PATH,
	TEXT_FOLDER, /* kept only with all other paths */
	TEXT_ARGUMENTS,
	TEXT_TASK, /* name of a thread or process */
	TEXT_CONTAINER,
};

static const struct {
	const char *schema, *key;
	enum text_kind kind;
} known_texts[] = {
	{"exec", "program", TEXT_PATH},	       {"exec", "arguments", TEXT_ARGUMENTS},
	{"exec", "folder", TEXT_FOLDER},       {"rename", "newName", TEXT_TASK},
	{"cgroup", "path", TEXT_CONTAINER},    {"lost samples", "reason", TEXT_WORDS},
	{"lost events", "reason", TEXT_WORDS}, {"throttled", "event", TEXT_WORDS},
	{"signal", "sender", TEXT_TASK},       {"signal", "origin", TEXT_WORDS},
	{"woken", "waker", TEXT_TASK},	       {"run", "variant", TEXT_WORDS},
};

static const char *text_of(const struct sanitizer *s, string_id id)
{
	return strings_get(&s->from->strings, id);
}

static enum text_kind kind_of(const struct sanitizer *s, const struct schema *schema,
			      const struct schema_field *field)
{
	for (size_t i = 0; i < sizeof(known_texts) / sizeof(known_texts[0]); i++) {
		if (strcmp(known_texts[i].schema, text_of(s, schema->name)) == 0 &&
		    strcmp(known_texts[i].key, text_of(s, field->key)) == 0)
			return known_texts[i].kind;
	}
	return TEXT_UNKNOWN;
}

static bool is_known_schema(const struct sanitizer *s, const struct schema *schema)
{
	for (size_t i = 0; i < sizeof(known_texts) / sizeof(known_texts[0]); i++) {
		if (strcmp(known_texts[i].schema, text_of(s, schema->name)) == 0)
			return true;
	}
	return false;
}

/* The class that takes such a text away; SANITIZE_CLASS_COUNT: none does. */
static enum sanitize_class class_of(enum text_kind kind)
{
	switch (kind) {
	case TEXT_FOLDER:
		return SANITIZE_PATHS;
	case TEXT_ARGUMENTS:
		return SANITIZE_ARGS;
	case TEXT_CONTAINER:
		return SANITIZE_HOST;
	default:
		return SANITIZE_CLASS_COUNT;
	}
}

static struct marker_value text_value(struct sanitizer *s, enum text_kind kind, string_id id)
{
	enum sanitize_class class = class_of(kind);
	bool names_task = kind == TEXT_TASK && (s->options->removes[SANITIZE_PROCESSES] ||
						s->options->removes[SANITIZE_THREADS]);

	if (kind == TEXT_UNKNOWN) {
		s->counts->unknown++;
	} else if (names_task) {
		s->counts->removed[SANITIZE_THREADS]++;
	} else if (class != SANITIZE_CLASS_COUNT && s->options->removes[class]) {
		s->counts->removed[class]++;
	} else if (s->options->names && (kind == TEXT_TASK || kind == TEXT_PATH)) {
		return marker_string(sanitize_name(s, id));
	} else {
		return marker_string(kind == TEXT_PATH ? sanitize_path(s, id)
						       : sanitize_text(s, id));
	}
	return (struct marker_value){.type = FIELD_NONE};
}

/* Kept whatever is asked for: runs of the command, and what was lost. */
static bool is_own_marker(const struct sanitizer *s, const struct schema *schema)
{
	static const char *const own[] = {"run", "lost samples", "lost events", "throttled"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (strcmp(own[i], text_of(s, schema->name)) == 0)
			return true;
	}
	return false;
}

static schema_id copy_schema(struct sanitizer *s, const struct schema *from)
{
	const struct schema_field *fields = schema_fields(&s->from->markers.schemas, from);
	struct schema_field rows[SCHEMA_FIELDS_MAX];
	struct schema row = *from;

	for (uint32_t i = 0; i < row.field_count; i++) {
		rows[i] = fields[i];
		rows[i].key = sanitize_text(s, fields[i].key);
		rows[i].label = sanitize_text(s, fields[i].label);
	}
	row.name = sanitize_text(s, row.name);
	row.chart_label = sanitize_text(s, row.chart_label);
	row.table_label = sanitize_text(s, row.table_label);
	row.tooltip_label = sanitize_text(s, row.tooltip_label);
	return schemas_intern(&s->into->markers.schemas, &row, rows);
}

static void copy_values(struct sanitizer *s, const struct marker *from, const struct marker *into,
			const struct schema *schema)
{
	const struct schema_field *fields = schema_fields(&s->from->markers.schemas, schema);

	for (uint32_t i = 0; i <= schema->field_count; i++) {
		struct marker_value value = *marker_value(&s->from->markers, from, i);

		if (value.type == FIELD_STRING)
			value = i < schema->field_count
					? text_value(s, kind_of(s, schema, &fields[i]),
						     value.string)
					: (struct marker_value){.type = FIELD_NONE};
		else if (value.type == FIELD_STACK && value.stack != NO_STACK)
			value.stack = s->stacks[value.stack];
		*marker_value(&s->into->markers, into, i) = value;
	}
}

static void copy_marker(struct sanitizer *s, const struct marker *from,
			struct profile_thread *thread)
{
	const struct schema *schema = schemas_get(&s->from->markers.schemas, from->schema);
	schema_id id;
	struct marker row;

	if (s->options->removes[SANITIZE_MARKERS] && !is_own_marker(s, schema)) {
		s->counts->removed[SANITIZE_MARKERS]++;
		return;
	}
	id = copy_schema(s, schema);
	if (id == NO_SCHEMA) {
		s->counts->unknown++;
		return;
	}
	row = markers_make(&s->into->markers, id, from->start, from->end);
	/* Names in other schemas are texts of the program that was recorded. */
	if (is_known_schema(s, schema))
		row.name = sanitize_text(s, from->name);
	row.category = sanitize_text(s, from->category);
	row.cause_tid = from->cause_tid;
	row.cause_time = from->cause_time;
	copy_values(s, from, &row, schema);
	vec_push(&thread->markers, row);
}

/* Scrubs each text of a list by itself. */
static string_id sanitize_list(struct sanitizer *s, string_id id)
{
	const char *text = text_of(s, id);
	size_t size = strings_size(&s->from->strings, id);
	_cleanup_(strbuf_release) struct strbuf list = {0};

	for (size_t at = 0; at < size; at++) {
		size_t length = strnlen(text + at, size - at);

		scrub_text(&s->scrubber, &list, text + at, length);
		at += length;
		if (at < size)
			strbuf_addch(&list, '\0');
	}
	return strings_intern_list(&s->into->strings, strbuf_text(&list), list.size);
}

static void copy_thread(struct sanitizer *s, thread_id id, uint32_t process)
{
	const struct profile_thread *from = &s->from->threads.rows.items[id];
	struct profile_thread row = {
		.pid = from->pid,
		.tid = from->tid,
		.incarnation = from->incarnation,
		.process_label = NO_STRING,
		.arguments = NO_STRING,
		.start = from->start,
		.end = from->end,
		.process_start = from->process_start,
		.process_end = from->process_end,
		.is_main = from->is_main,
		.is_folded = from->is_folded,
	};
	struct profile_thread *into;

	row.name = sanitize_thread_name(s, from, id + 1);
	row.process_name = sanitize_process_name(s, from->process_name, process);
	if (from->arguments != NO_STRING && !s->options->removes[SANITIZE_ARGS])
		row.arguments = sanitize_list(s, from->arguments);
	else
		s->counts->removed[SANITIZE_ARGS] += from->arguments != NO_STRING;
	s->counts->removed[SANITIZE_HOST] += from->process_label != NO_STRING;
	into = threads_get(&s->into->threads, threads_add(&s->into->threads, &row));
	vec_for_each(&from->samples, const struct sample *, sample) {
		struct sample copy = *sample;

		copy.stack = copy.stack == NO_STACK ? NO_STACK : s->stacks[copy.stack];
		vec_push(&into->samples, copy);
	}
	vec_for_each(&from->markers, const struct marker *, marker)
		copy_marker(s, marker, into);
}

static void copy_events(struct sanitizer *s)
{
	for (uint32_t i = 1; i < s->from->events.rows.count; i++) {
		struct event_count row = s->from->events.rows.items[i];

		row.name = sanitize_text(s, row.name);
		*event_counts_get(&s->into->events, i) = row;
	}
}

static void copy_counters(struct sanitizer *s)
{
	vec_for_each(&s->from->counters.rows, const struct counter *, from) {
		struct counter row = *from;

		row.name = sanitize_text(s, from->name);
		row.category = sanitize_text(s, from->category);
		row.description = sanitize_text(s, from->description);
		row.label = sanitize_text(s, from->label);
		row.unit = sanitize_text(s, from->unit);
		row.color = sanitize_text(s, from->color);
		memset(&row.samples, 0, sizeof(row.samples));
		vec_for_each(&from->samples, const struct counter_sample *, sample)
			vec_push(&row.samples, *sample);
		if (profile_counters_add(&s->into->counters, &row) == NO_COUNTER)
			vec_release(&row.samples);
	}
}

void sanitize_threads(struct sanitizer *s)
{
	const struct threads *threads = &s->from->threads;
	uint32_t process = 0;

	copy_events(s);
	for (thread_id id = 0; id < threads->rows.count; id++) {
		process += threads->rows.items[id].is_main;
		copy_thread(s, id, process);
	}
	copy_counters(s);
}
