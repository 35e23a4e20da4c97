/* SPDX-License-Identifier: MIT */
/* Rows of one profile as rows of another, each copied when it is first asked for. */
#ifndef PROF_LIB_QUERY_COPY_ROWS_H
#define PROF_LIB_QUERY_COPY_ROWS_H

#include "lib/query/select.h"

struct row_copier;

/* Both profiles are borrowed. */
struct row_copier *row_copier_new(struct profile *into, const struct profile *from);
void row_copier_free(struct row_copier *c);

/* NO_STRING stays what it is. */
string_id row_copier_string(struct row_copier *c, string_id id);
/* The same for several texts in one row. */
string_id row_copier_list(struct row_copier *c, string_id id);
/* NO_SCHEMA if another schema has its name, or there are too many. */
schema_id row_copier_schema(struct row_copier *c, schema_id id);
/* Copies all modules, in their order: the new profile has none yet. */
void row_copier_modules(struct row_copier *c);
/* Copies a frame as it is. Neither profile has categories of its own. */
frame_id row_copier_frame(struct row_copier *c, frame_id id);
/*
 * Copies the shown frames of all used stacks, with the categories that the query gives them.
 * Returns new ids by old, NO_STACK for others; to be freed. Marks their callers in is_used.
 */
stack_id *row_copier_stacks(struct row_copier *c, const struct query *q, bool *is_used);

/*
 * Copies what is said of the recording as a whole: the end always, the rest from the first profile
 * only, and lines about it only if it is alone.
 */
void row_copy_meta(struct profile *into, const struct profile *from, uint64_t offset_ns,
		   bool is_first, bool is_alone);

#endif
