/* SPDX-License-Identifier: MIT */
/* Adds schemas that are constants. */
#ifndef PROF_LIB_MODEL_TABLES_SCHEMA_TEXT_H
#define PROF_LIB_MODEL_TABLES_SCHEMA_TEXT_H

#include "lib/model/tables/schemas.h"
#include "lib/model/tables/strings.h"

/* As schemas_intern(). */
schema_id schema_text_intern(const struct marker_schema *text, struct schemas *schemas,
			     struct strings *strings);
/* Returns NO_SCHEMA if none of that name. */
schema_id schema_text_find(enum marker_id id, const struct schemas *schemas,
			   const struct strings *strings);
/*
 * Adds those that each session has, whose ids are then their enum marker_id. Call before there is
 * any other.
 */
void schema_text_intern_first(struct schemas *schemas, struct strings *strings);

#endif
