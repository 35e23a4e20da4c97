/* SPDX-License-Identifier: MIT */
/*
 * Schemas of markers: name, labels, places in front-ends, and fields. With the schema, code can
 * read any marker, whatever its meaning.
 */
#pragma once

#include "lib/base/vec.h"
#include "lib/model/facts/marker_schema.h"
#include "lib/model/tables/ids.h"
#include "lib/model/tables/strings.h"

#define MARKER_SCHEMAS_MAX 1024
#define SCHEMA_FIELDS_MAX 32

/* Returns the name of the schema's group; NULL if it has none. */
const char *schema_group(uint32_t shown);

struct schema_field {
	string_id key; /* an identifier, unique in the schema */
	string_id label; /* NO_STRING: same as the key */
	uint8_t type; /* enum field_type, not FIELD_NONE */
	uint8_t personal; /* bit n: its writer states personal data of kind n; 0: nothing stated */
};

/*
 * Labels are templates: "{marker.data.KEY}", "{marker.name}". NO_STRING: the front-end's default.
 */
struct schema {
	string_id name; /* unique */
	string_id chart_label, table_label, tooltip_label;
	uint32_t shown; /* SHOWN_…, and a group */
	uint32_t first_field;
	uint32_t field_count;
};

struct schemas {
	VEC(struct schema) rows;
	VEC(struct schema_field) fields;
};

void schemas_release(struct schemas *s);
/*
 * Returns the schema with these fields, new or existing; sets first_field. A field is as personal
 * as either states. NO_SCHEMA if the name belongs to a different schema, or there are too many
 * schemas or fields.
 */
schema_id schemas_intern(struct schemas *s, const struct schema *schema,
			 const struct schema_field *fields);
/* Returns NO_SCHEMA if no schema has that name. */
schema_id schemas_find(const struct schemas *s, string_id name);
const struct schema *schemas_get(const struct schemas *s, schema_id id);
/* Returns field_count fields; NULL if there are none. */
const struct schema_field *schema_fields(const struct schemas *s, const struct schema *schema);
/* Returns the number of the field with that key, or field_count. */
uint32_t schema_find_field(const struct schemas *s, const struct schema *schema, string_id key);

/* Adds constant schemas. */

/* Like schemas_intern(). */
schema_id schema_text_intern(const struct marker_schema *text, struct schemas *schemas,
			     struct strings *strings);
/* Returns NO_SCHEMA if no schema has that name. */
schema_id schema_text_find(enum marker_id id, const struct schemas *schemas,
			   const struct strings *strings);
/*
 * Adds the schemas that every session has, with their enum marker_id as ids. Call before adding any
 * other schema.
 */
void schema_text_intern_first(struct schemas *schemas, struct strings *strings);
