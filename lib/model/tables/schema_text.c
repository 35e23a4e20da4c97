/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/schema_text.h"

#include <string.h>

schema_id schema_text_intern(const struct marker_schema *text, struct schemas *schemas,
			     struct strings *strings)
{
	string_id label = strings_intern(strings, text->label);
	struct schema_field fields[MARKER_SCHEMA_FIELDS_MAX];
	struct schema schema = {
		.name = strings_intern(strings, text->name),
		.chart_label = label,
		.table_label = label,
		.tooltip_label = label,
		.shown = text->shown,
	};

	for (; schema.field_count < MARKER_SCHEMA_FIELDS_MAX; schema.field_count++) {
		const struct marker_schema_field *field = &text->fields[schema.field_count];

		if (!field->key)
			break;
		fields[schema.field_count] = (struct schema_field){
			.key = strings_intern(strings, field->key),
			.label = strings_intern(strings, field->label),
			.type = (uint8_t)field->type,
		};
	}
	return schemas_intern(schemas, &schema, fields);
}

schema_id schema_text_find(enum marker_id id, const struct schemas *schemas,
			   const struct strings *strings)
{
	const char *text = marker_schema(id)->name;
	string_id name = strings_find(strings, text, strlen(text));

	return name == NO_STRING ? NO_SCHEMA : schemas_find(schemas, name);
}

void schema_text_intern_first(struct schemas *schemas, struct strings *strings)
{
	for (enum marker_id id = 0; id < MARKERS_OF_SESSION; id++)
		schema_text_intern(marker_schema(id), schemas, strings);
}
