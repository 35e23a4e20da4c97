/* SPDX-License-Identifier: MIT */
/* Schemas of markers that this program makes itself, as constants. */
#ifndef PROF_LIB_PROFILE_SCHEMA_TEXT_H
#define PROF_LIB_PROFILE_SCHEMA_TEXT_H

#include <stdbool.h>

#include "lib/profile/schemas.h"
#include "lib/profile/strings.h"

#define SCHEMA_TEXT_FIELDS_MAX 8

struct schema_field_text {
	const char *key, *label;
	enum field_type type;
};

/* Shown in the chart, the table and on the thread's track, with one label everywhere. */
struct schema_text {
	const char *name, *label;
	struct schema_field_text fields[SCHEMA_TEXT_FIELDS_MAX]; /* up to the first without a key */
	bool is_minor; /* not on the track */
	enum marker_group group;
};

/* As schemas_intern(). */
schema_id schema_text_intern(const struct schema_text *text, struct schemas *schemas,
			     struct strings *strings);

#endif
