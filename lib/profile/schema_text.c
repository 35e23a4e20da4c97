/* SPDX-License-Identifier: MIT */
#include "lib/profile/schema_text.h"

schema_id schema_text_intern(const struct schema_text *text, struct schemas *schemas,
			     struct strings *strings)
{
	string_id label = strings_intern(strings, text->label);
	struct schema_field fields[SCHEMA_TEXT_FIELDS_MAX];
	struct schema schema = {
		.name = strings_intern(strings, text->name),
		.chart_label = label,
		.table_label = label,
		.tooltip_label = label,
		.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE |
			 (text->is_minor ? 0 : SHOWN_IN_OVERVIEW) | SHOWN_GROUP(text->group),
	};

	for (; schema.field_count < SCHEMA_TEXT_FIELDS_MAX; schema.field_count++) {
		const struct schema_field_text *field = &text->fields[schema.field_count];

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
