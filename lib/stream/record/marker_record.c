/* SPDX-License-Identifier: MIT */
#include "lib/stream/record/marker_record.h"

#include "lib/stream/record/records.h"

static size_t text_length(const char *text)
{
	return text ? strlen(text) : 0;
}

static char *schema_record_put_text(char *to, const char *text, __u16 size)
{
	if (size)
		memcpy(to, text, size);
	return to + size;
}

static unsigned int count_fields(const struct marker_schema *from, size_t *text_size)
{
	unsigned int count = 0;

	*text_size = text_length(from->name) + 3 * text_length(from->label);
	while (count < MARKER_SCHEMA_FIELDS_MAX && from->fields[count].key) {
		*text_size += text_length(from->fields[count].key);
		*text_size += text_length(from->fields[count].label);
		count++;
	}
	return count;
}

struct rec_schema *schema_record_new(const struct marker_schema *from, __u32 id, __u64 time)
{
	size_t text_size;
	unsigned int field_count = count_fields(from, &text_size);
	size_t size = rec_schema_size(field_count, text_size);
	struct rec_schema *rec = xcalloc(1, size);
	char *text;

	record_init(&rec->rec, REC_SCHEMA, size, time, 0, 0);
	rec->schema = id;
	rec->shown = from->shown;
	rec->field_count = (__u16)field_count;
	rec->name_size = (__u16)text_length(from->name);
	rec->chart_size = rec->table_size = rec->tooltip_size = (__u16)text_length(from->label);
	rec->text_size = (__u32)text_size;
	text = (char *)&rec->fields[field_count];
	text = schema_record_put_text(text, from->name, rec->name_size);
	for (int i = 0; i < 3; i++)
		text = schema_record_put_text(text, from->label, rec->chart_size);
	for (unsigned int i = 0; i < field_count; i++) {
		struct rec_schema_field *field = &rec->fields[i];

		field->type = (__u8)from->fields[i].type;
		field->key_size = (__u16)text_length(from->fields[i].key);
		field->label_size = (__u16)text_length(from->fields[i].label);
		text = schema_record_put_text(text, from->fields[i].key, field->key_size);
		text = schema_record_put_text(text, from->fields[i].label, field->label_size);
	}
	return rec;
}

_Static_assert(TRACEPOINT_FIELDS_MAX <= MARKER_SCHEMA_FIELDS_MAX &&
		       TRACEPOINT_FIELDS_MAX <= MARKER_RECORD_VALUES_MAX,
	       "all fields have room");

struct marker_schema schema_of_tracepoint(const char *name, const struct tracepoint_format *format)
{
	struct marker_schema schema = {
		.name = name,
		.label = "{marker.name}",
		.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE,
	};

	for (uint32_t i = 0; i < format->count; i++) {
		const struct tracepoint_field *field = &format->fields[i];

		schema.fields[i].type = field->kind == TRACEPOINT_INTEGER ? FIELD_INTEGER
									  : FIELD_STRING;
		schema.fields[i].key = schema.fields[i].label = field->key;
	}
	return schema;
}

#define TEXT_MAX 0xffffu

static size_t length(const struct marker_text *text)
{
	return text->size < TEXT_MAX ? text->size : TEXT_MAX;
}

/* Returns the offset of the text in the record's text. */
static size_t put_text(struct rec_marker *rec, char *to, const struct marker_text *text)
{
	size_t at = rec->text_size, size = length(text);

	if (size)
		memcpy(to + at, text->at, size);
	rec->text_size += (__u32)size;
	return at;
}

struct marker_text marker_text(const char *text)
{
	return (struct marker_text){text, text ? strlen(text) : 0};
}

static void set_type(struct marker_record *marker, unsigned int field, enum field_type type)
{
	marker->values[field].type = type;
	if (marker->value_count <= field)
		marker->value_count = field + 1;
}

void marker_set_text(struct marker_record *marker, unsigned int field, struct marker_text text)
{
	set_type(marker, field, FIELD_STRING);
	marker->values[field].text = text;
}

void marker_set_number(struct marker_record *marker, unsigned int field, enum field_type type,
		       __u64 number)
{
	set_type(marker, field, type);
	marker->values[field].number = number;
}

void marker_set_tracepoint(struct marker_record *marker, const struct tracepoint_format *format,
			   const void *bytes, size_t size)
{
	for (uint32_t i = 0; i < format->count; i++) {
		struct tracepoint_value value;

		if (!tracepoint_field_read(&format->fields[i], bytes, size, &value))
			continue;
		if (value.text)
			marker_set_text(marker, i, (struct marker_text){value.text, value.size});
		else
			marker_set_number(marker, i, FIELD_INTEGER, (uint64_t)value.number);
	}
}

struct rec_marker *marker_record_new(const struct marker_record *from)
{
	size_t text_size = length(&from->name) + length(&from->category), size;
	unsigned int value_count = 0;
	struct rec_marker *rec;
	char *text;

	for (unsigned int i = 0; i < from->value_count; i++) {
		value_count += from->values[i].type != FIELD_NONE;
		text_size += length(&from->values[i].text);
	}
	size = rec_marker_size(value_count, from->cause != NULL, text_size);
	rec = xcalloc(1, size);
	record_init(&rec->rec, REC_MARKER, size, from->end, from->pid, from->tid);
	rec->rec.flags = from->flags;
	rec->rec.cpu = from->cpu;
	rec->start = from->start;
	rec->schema = from->schema;
	rec->value_count = (__u16)value_count;
	if (from->cause) {
		rec->rec.flags |= MARKER_CAUSE;
		rec->stack_count = 1;
		memcpy((void *)rec_marker_stacks(rec), from->cause, sizeof(*from->cause));
	}
	text = (char *)rec_marker_text(rec);
	put_text(rec, text, &from->name);
	put_text(rec, text, &from->category);
	rec->name_size = (__u16)length(&from->name);
	rec->category_size = (__u16)length(&from->category);
	for (unsigned int i = 0, at = 0; i < from->value_count; i++) {
		bool is_text = from->values[i].type == FIELD_STRING;

		if (from->values[i].type == FIELD_NONE)
			continue;
		rec->values[at++] = (struct rec_value){
			.field = (__u16)i,
			.type = (__u8)from->values[i].type,
			.size = is_text ? (__u32)length(&from->values[i].text) : 0,
			.value = is_text ? put_text(rec, text, &from->values[i].text)
					 : from->values[i].number,
		};
	}
	return rec;
}
