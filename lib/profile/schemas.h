/* SPDX-License-Identifier: MIT */
/*
 * Schemas of markers: a name, how such markers are labelled, where they are shown, and the fields
 * that they have. Whoever knows the schema can read any marker of it, whatever it is about.
 */
#ifndef PROF_LIB_PROFILE_SCHEMAS_H
#define PROF_LIB_PROFILE_SCHEMAS_H

#include "lib/base/vec.h"
#include "lib/profile/ids.h"

#define MARKER_SCHEMAS_MAX 1024
#define SCHEMA_FIELDS_MAX 32

enum field_type {
	FIELD_NONE, /* no value: a marker may lack any field of its schema */
	FIELD_STRING,
	FIELD_INTEGER, /* signed */
	FIELD_BYTES,
	FIELD_DURATION, /* ns */
	FIELD_TIME, /* CLOCK_MONOTONIC ns */
	FIELD_PERCENTAGE, /* in millionths of the whole */
	FIELD_STACK,
	FIELD_TYPE_COUNT,
};

/* Places in which front-ends show markers. */
enum {
	SHOWN_IN_CHART = 1 << 0,
	SHOWN_IN_TABLE = 1 << 1,
	SHOWN_IN_OVERVIEW = 1 << 2, /* on the track of the thread */
	SHOWN_WITH_MEMORY = 1 << 3,
	SHOWN_WITH_IPC = 1 << 4,
	SHOWN_WITH_FILE_IO = 1 << 5,
	SHOWN_WITH_NETWORK = 1 << 6,
	SHOWN_ANYWHERE = (1 << 7) - 1,
};

struct schema_field {
	string_id key; /* an identifier, unlike those of the schema's other fields */
	string_id label; /* NO_STRING: the key */
	uint8_t type; /* enum field_type, not FIELD_NONE */
};

/* Labels are templates: "{marker.data.KEY}", "{marker.name}"; NO_STRING: that of the front-end. */
struct schema {
	string_id name; /* of no other schema */
	string_id chart_label, table_label, tooltip_label;
	uint32_t shown; /* SHOWN_… */
	uint32_t first_field;
	uint32_t field_count;
};

struct schemas {
	VEC(struct schema) rows;
	VEC(struct schema_field) fields;
};

void schemas_release(struct schemas *s);
/*
 * The schema with these fields; first_field is set here. One that is there already is given again;
 * NO_SCHEMA: another schema has the name, or there are too many schemas or fields.
 */
schema_id schemas_intern(struct schemas *s, const struct schema *schema,
			 const struct schema_field *fields);
/* NO_SCHEMA: there is none of that name. */
schema_id schemas_find(const struct schemas *s, string_id name);
const struct schema *schemas_get(const struct schemas *s, schema_id id);
/* field_count fields; NULL where there is none. */
const struct schema_field *schema_fields(const struct schemas *s, const struct schema *schema);
/* The number of the field with that key, or field_count. */
uint32_t schema_find_field(const struct schemas *s, const struct schema *schema, string_id key);

#endif
