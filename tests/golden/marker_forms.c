/* SPDX-License-Identifier: MIT */
/* Schemas, markers and counters as text. */
#include <inttypes.h>
#include <string.h>

#include "lib/model/facts/facts.h"
#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/golden/events.h"
#include "tests/golden/record_text.h"

#define PARTS_MAX 8

static const char *const field_types[FIELD_TYPE_COUNT] = {
	"none", "string",     "integer", "bytes", "duration",
	"time", "percentage", "stack",	 "pid",	  "tid",
};
static const char *const places[] = {
	"chart", "table", "overview", "memory", "ipc", "file-io", "network", NULL,
};

/* Cuts a:b:c into its parts; missing ones are empty. */
static void split(char *text, char separator, char *parts[PARTS_MAX])
{
	static char nothing[1];

	for (size_t i = 0; i < PARTS_MAX; i++) {
		char *end = text ? strchr(text, separator) : NULL;

		parts[i] = text ? text : nothing;
		if (end && i + 1 < PARTS_MAX)
			*end = '\0';
		text = end && i + 1 < PARTS_MAX ? end + 1 : NULL;
	}
}

/* A number stands for a type that does not exist. */
static uint8_t parse_type(struct record_text *t, const char *text)
{
	uint64_t number = 0;

	for (uint8_t type = 0; type < FIELD_TYPE_COUNT; type++) {
		if (strcmp(field_types[type], text) == 0)
			return type;
	}
	if (!event_number(text, &number))
		event_line_problem(t->line, "not a type:", text);
	return (uint8_t)number;
}

static uint64_t parse_number(struct record_text *t, const char *text)
{
	bool is_negative = *text == '-';
	uint64_t number = 0;

	if (*text && !event_number(text + is_negative, &number))
		event_line_problem(t->line, "not a number:", text);
	return is_negative ? -number : number;
}

/* Appends the unescaped text of a field of the line; returns its size. */
static uint16_t read_text(struct record_text *t, const char *key, struct strbuf *text)
{
	char *value = event_line_text(t->line, key);
	size_t size = value ? event_text_unescape(value) : 0;

	strbuf_add(text, value ? value : "", size);
	return (uint16_t)size;
}

static void print_text(struct record_text *t, const char *key, const char **text, size_t size)
{
	if (size)
		text_print_bytes(t, key, *text, size);
	*text += size;
}

static void print_schema(struct record_text *t, const struct rec_schema *rec)
{
	const char *text = rec_schema_text(rec), *before = " shown=";

	for (size_t i = 0; places[i]; i++) {
		if (rec->shown >> i & 1) {
			text_print(t, "%s%s", before, places[i]);
			before = ",";
		}
	}
	print_text(t, "name", &text, rec->name_size);
	print_text(t, "chart", &text, rec->chart_size);
	print_text(t, "table", &text, rec->table_size);
	print_text(t, "tooltip", &text, rec->tooltip_size);
	for (size_t i = 0; i < rec->field_count; i++) {
		const struct rec_schema_field *field = &rec->fields[i];

		text_print_item(t, " field=", text, field->key_size);
		text_print(t, ":%s", field_types[field->type]);
		if (field->label_size)
			text_print_item(t, ":", text + field->key_size, field->label_size);
		text += field->key_size + field->label_size;
	}
}

static uint32_t read_places(struct record_text *t)
{
	char *parts[PARTS_MAX];
	uint32_t shown = 0;

	split(event_line_text(t->line, "shown"), ',', parts);
	for (size_t i = 0; places[i]; i++) {
		for (size_t k = 0; k < PARTS_MAX; k++)
			shown |= (uint32_t)(strcmp(places[i], parts[k]) == 0) << i;
	}
	return shown;
}

/* shown=chart,table name= chart= table= tooltip= field=KEY:TYPE[:LABEL], each */
void text_schema(struct record_text *t, struct rec_schema *rec)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	char *field;

	if (!t->line) {
		print_schema(t, rec);
		return;
	}
	rec->shown = read_places(t);
	rec->name_size = read_text(t, "name", &text);
	rec->chart_size = read_text(t, "chart", &text);
	rec->table_size = read_text(t, "table", &text);
	rec->tooltip_size = read_text(t, "tooltip", &text);
	while ((field = event_line_text(t->line, "field"))) {
		struct rec_schema_field row = {0};
		char *parts[PARTS_MAX];

		split(field, ':', parts);
		row.key_size = (uint16_t)event_text_unescape(parts[0]);
		row.type = parse_type(t, parts[1]);
		row.label_size = (uint16_t)event_text_unescape(parts[2]);
		strbuf_add(&text, parts[0], row.key_size);
		strbuf_add(&text, parts[2], row.label_size);
		rec->field_count++;
		text_add(t, &row, sizeof(row));
	}
	rec->text_size = (uint32_t)text.size;
	text_add(t, text.text, text.size);
}

static void print_marker(struct record_text *t, const struct rec_marker *rec)
{
	const struct rec_marker_stack *stacks = rec_marker_stacks(rec);
	const char *text = rec_marker_text(rec), *start = text;

	text_print(t, " start=%" PRIu64 "ns", (uint64_t)(rec->start - EVENTS_START_NS));
	print_text(t, "name", &text, rec->name_size);
	print_text(t, "category", &text, rec->category_size);
	for (size_t i = 0; i < rec->value_count; i++) {
		const struct rec_value *value = &rec->values[i];

		text_print(t, " value=%u:%s:", value->field, field_types[value->type]);
		if (value->type == FIELD_STRING)
			text_print_item(t, "", start + value->value, value->size);
		else
			text_print(t, "0x%" PRIx64, (uint64_t)value->value);
	}
	for (size_t i = 0; i < rec->stack_count; i++)
		text_print(t, " stack=0x%" PRIx64 ":%u:%u:%u:%" PRIu64 ":%u",
			   (uint64_t)stacks[i].leaf, stacks[i].stack_id, stacks[i].pid,
			   stacks[i].tid, (uint64_t)(stacks[i].time - EVENTS_START_NS),
			   stacks[i].flags);
}

static void read_value(struct record_text *t, char *text, struct rec_value *value,
		       struct strbuf *tail)
{
	char *parts[PARTS_MAX];

	split(text, ':', parts);
	value->field = (uint16_t)parse_number(t, parts[0]);
	value->type = parse_type(t, parts[1]);
	if (value->type != FIELD_STRING) {
		value->value = parse_number(t, parts[2]);
		return;
	}
	value->size = (uint32_t)event_text_unescape(parts[2]);
	value->value = tail->size;
	strbuf_add(tail, parts[2], value->size);
}

/*
 * start= name= category= value=FIELD:TYPE:VALUE, each, then stack=LEAF:ID:PID:TID:NS:FLAGS, each;
 * a value of the type stack is the number of one of these
 */
void text_marker(struct record_text *t, struct rec_marker *rec)
{
	_cleanup_(strbuf_release) struct strbuf tail = {0};
	char *text, *parts[PARTS_MAX];

	if (!t->line) {
		print_marker(t, rec);
		text_add(t, NULL, record_size(&rec->rec) - sizeof(*rec));
		return;
	}
	rec->start = EVENTS_START_NS + event_line_time(t->line, "start");
	rec->name_size = read_text(t, "name", &tail);
	rec->category_size = read_text(t, "category", &tail);
	while ((text = event_line_text(t->line, "value"))) {
		struct rec_value value = {0};

		read_value(t, text, &value, &tail);
		rec->value_count++;
		text_add(t, &value, sizeof(value));
	}
	while ((text = event_line_text(t->line, "stack"))) {
		struct rec_marker_stack stack;

		split(text, ':', parts);
		stack = (struct rec_marker_stack){
			.leaf = parse_number(t, parts[0]),
			.stack_id = (uint32_t)parse_number(t, parts[1]),
			.pid = (uint32_t)parse_number(t, parts[2]),
			.tid = (uint32_t)parse_number(t, parts[3]),
			.time = EVENTS_START_NS + parse_number(t, parts[4]),
			.flags = (uint8_t)parse_number(t, parts[5]),
		};
		rec->stack_count++;
		text_add(t, &stack, sizeof(stack));
	}
	rec->text_size = (uint32_t)tail.size;
	text_add(t, tail.text, tail.size);
}

/* name= category= description= label= unit= color= */
void text_counter_info(struct record_text *t, struct rec_counter_info *rec)
{
	_cleanup_(strbuf_release) struct strbuf tail = {0};
	struct {
		const char *key;
		__u16 *size;
	} texts[] = {
		{"name", &rec->name_size},
		{"category", &rec->category_size},
		{"description", &rec->description_size},
		{"label", &rec->label_size},
		{"unit", &rec->unit_size},
		{"color", &rec->color_size},
	};
	const char *at = rec->text;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (t->line)
			*texts[i].size = read_text(t, texts[i].key, &tail);
		else
			print_text(t, texts[i].key, &at, *texts[i].size);
	}
	if (t->line)
		text_add(t, tail.text, tail.size);
}

static void print_labels(struct record_text *t, const struct rec_labels *rec)
{
	for (size_t i = 0; i < rec->count; i++) {
		const struct rec_label *label = &rec->labels[i];

		text_print_item(t, " label=", label->key, label->key_size);
		text_print_item(t, ":", label->value, label->value_size);
		if (label->flags & LABEL_CUT)
			text_print(t, ":cut");
	}
}

/* label=KEY:VALUE[:cut], each */
void text_labels(struct record_text *t, struct rec_labels *rec)
{
	char *label;

	if (!t->line) {
		print_labels(t, rec);
		return;
	}
	while ((label = event_line_text(t->line, "label"))) {
		struct rec_label row = {0};
		char *parts[PARTS_MAX];
		size_t key_size, value_size;

		split(label, ':', parts);
		key_size = event_text_unescape(parts[0]);
		value_size = event_text_unescape(parts[1]);
		row.flags = strcmp(parts[2], "cut") == 0 ? LABEL_CUT : 0;
		row.key_size = (uint8_t)key_size;
		row.value_size = (uint8_t)value_size;
		if (key_size > sizeof(row.key) || value_size > sizeof(row.value)) {
			event_line_problem(t->line, "too long:", parts[0]);
			return;
		}
		memcpy(row.key, parts[0], key_size);
		memcpy(row.value, parts[1], value_size);
		rec->count++;
		text_add(t, &row, sizeof(row));
	}
}
