/* SPDX-License-Identifier: MIT */
#include "lib/stream/record/schema_record.h"

#include <string.h>

#include "lib/base/alloc.h"
#include "lib/stream/record/record.h"

static size_t text_length(const char *text)
{
	return text ? strlen(text) : 0;
}

static char *put_text(char *to, const char *text, __u16 size)
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
	text = put_text(text, from->name, rec->name_size);
	for (int i = 0; i < 3; i++)
		text = put_text(text, from->label, rec->chart_size);
	for (unsigned int i = 0; i < field_count; i++) {
		struct rec_schema_field *field = &rec->fields[i];

		field->type = (__u8)from->fields[i].type;
		field->key_size = (__u16)text_length(from->fields[i].key);
		field->label_size = (__u16)text_length(from->fields[i].label);
		text = put_text(text, from->fields[i].key, field->key_size);
		text = put_text(text, from->fields[i].label, field->label_size);
	}
	return rec;
}
