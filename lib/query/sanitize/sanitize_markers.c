/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/model/tables/copy.h"
#include "lib/query/sanitize/internal.h"

static const char *text_of(const struct sanitizer *s, string_id id)
{
	return strings_get(&s->from->strings, id);
}

/* `known`: the schema of markers that prof makes. */
static enum value_kind kind_of(const struct sanitizer *s, const struct marker_schema *known,
			       const struct schema_field *field)
{
	const char *key = text_of(s, field->key);

	for (size_t i = 0; i < MARKER_SCHEMA_FIELDS_MAX && known->fields[i].key; i++) {
		if (strcmp(known->fields[i].key, key) == 0)
			return known->fields[i].value;
	}
	return VALUE_UNKNOWN;
}

/* The class that takes such a text away; SANITIZE_CLASS_COUNT: none does. */
static enum sanitize_class class_of(enum value_kind kind)
{
	switch (kind) {
	case VALUE_FOLDER:
		return SANITIZE_PATHS;
	case VALUE_ARGUMENTS:
		return SANITIZE_ARGS;
	case VALUE_MACHINE:
		return SANITIZE_HOST;
	default:
		return SANITIZE_CLASS_COUNT;
	}
}

static string_id task_or_path(struct sanitizer *s, enum value_kind kind, string_id id)
{
	if (kind == VALUE_TASK)
		return sanitize_program_name(s, id);
	return s->options->names ? sanitize_name(s, id) : sanitize_path(s, id);
}

static struct marker_value text_value(struct sanitizer *s, enum value_kind kind, string_id id)
{
	enum sanitize_class class = class_of(kind);
	bool names_task = kind == VALUE_TASK && (s->options->removes[SANITIZE_PROCESSES] ||
						 s->options->removes[SANITIZE_THREADS]);

	if (kind == VALUE_UNKNOWN || kind == VALUE_NUMBER)
		s->counts->unknown++;
	else if (names_task)
		s->counts->removed[SANITIZE_THREADS]++;
	else if (class != SANITIZE_CLASS_COUNT && s->options->removes[class])
		s->counts->removed[class]++;
	else if (kind == VALUE_TASK || kind == VALUE_PATH)
		return marker_string(task_or_path(s, kind, id));
	else
		return marker_string(sanitize_text(s, id));
	return (struct marker_value){.type = FIELD_NONE};
}

static schema_id copy_schema(struct sanitizer *s, const struct schema *from,
			     const struct marker_schema *known)
{
	const struct schema_field *fields = schema_fields(&s->from->markers.schemas, from);
	struct schema_field rows[SCHEMA_FIELDS_MAX];
	struct schema row = *from;

	row.field_count = 0;
	for (uint32_t i = 0; i < from->field_count; i++) {
		if (kind_of(s, known, &fields[i]) == VALUE_UNKNOWN)
			continue;
		rows[row.field_count++] = fields[i];
	}
	copy_schema_texts(&row, rows, &(struct copy_rules){s, sanitize_any_text, NULL, NULL});
	return schemas_intern(&s->into->markers.schemas, &row, rows);
}

/* Tells only that something was: not even names of fields are known to be harmless. */
static schema_id unknown_schema(struct sanitizer *s)
{
	const struct schema row = {
		.name = strings_intern(&s->into->strings, "marker"),
		.chart_label = NO_STRING,
		.table_label = NO_STRING,
		.tooltip_label = NO_STRING,
		.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE | SHOWN_IN_OVERVIEW,
	};

	return schemas_intern(&s->into->markers.schemas, &row, NULL);
}

static void copy_values(struct sanitizer *s, const struct marker *from, const struct marker *into,
			const struct schema *schema, const struct marker_schema *known,
			const struct copy_rules *rules)
{
	const struct schema_field *fields = schema_fields(&s->from->markers.schemas, schema);
	uint32_t kept = 0;

	for (uint32_t i = 0; i <= schema->field_count; i++) {
		struct marker_value value = *marker_value(&s->from->markers, from, i);
		bool is_cause = i == schema->field_count;
		enum value_kind kind = is_cause ? VALUE_NUMBER : kind_of(s, known, &fields[i]);

		if (value.type == FIELD_STRING)
			value = text_value(s, kind, value.string);
		else
			value = copy_marker_value(&value, rules);
		if (kind != VALUE_UNKNOWN)
			*marker_value(&s->into->markers, into, kept++) = value;
	}
}

/* Keeps the stack of the cause, which comes after the fields. */
static void copy_cause(struct sanitizer *s, const struct marker *from, const struct marker *into)
{
	stack_id cause = marker_cause(&s->from->markers, from);

	if (cause != NO_STACK)
		*marker_value(&s->into->markers, into, 0) = marker_stack(s->stacks[cause]);
}

void sanitize_marker(struct sanitizer *s, const struct marker *from, struct profile_thread *thread)
{
	const struct schema *schema = schemas_get(&s->from->markers.schemas, from->schema);
	const struct marker_schema *known = marker_schema_find(text_of(s, schema->name));
	struct copy_rules rules = {s, NULL, NULL, sanitize_stack};
	schema_id id;
	struct marker row;

	if (s->options->removes[SANITIZE_MARKERS] && !(known && known->stays)) {
		s->counts->removed[SANITIZE_MARKERS]++;
		return;
	}
	id = known ? copy_schema(s, schema, known) : unknown_schema(s);
	s->counts->unknown += !known;
	if (id == NO_SCHEMA) {
		s->counts->unknown += known != NULL;
		return;
	}
	rules.text = known ? sanitize_any_text : sanitize_no_text;
	row = copy_marker_row(&s->into->markers, id, from, &rules);
	if (known) {
		copy_values(s, from, &row, schema, known, &rules);
	} else {
		row.name = schemas_get(&s->into->markers.schemas, id)->name;
		copy_cause(s, from, &row);
	}
	vec_push(&thread->markers, row);
}
