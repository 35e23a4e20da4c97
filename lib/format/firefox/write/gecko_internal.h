/* SPDX-License-Identifier: MIT */
/* Shared by the writers of Gecko's format: gecko.c, gecko_thread.c and gecko_markers.c. */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_GECKO_INTERNAL_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_GECKO_INTERNAL_H

#include "lib/base/json/writer.h"
#include "lib/model/meaning/categories.h"

/* Rows of the thread being written. The rest of all stacks stays as it is between threads. */
struct gecko_row {
	uint32_t thread; /* number of its thread, from 1 on */
	uint32_t row;
};

struct gecko {
	const struct profile *profile;
	const struct profile_thread *first;
	struct frame_category *categories; /* by frame_id */
	uint32_t thread; /* being written */
	struct strings strings; /* locations and names */
	VEC(struct gecko_row) string_rows; /* by string_id of those */
	VEC(string_id) thread_strings; /* by row */
	/* By stack_id, twice: at the leaf, and as a caller. */
	struct gecko_row *stack_rows[2];
	VEC(uint32_t) stacks; /* by row: twice the stack_id, plus 1 for a caller */
	VEC(stack_id) path;
};

void gecko_key_string(struct jsonw *w, const char *key, const char *text);
/* Writes the columns of a table, and the key of its rows. */
void gecko_schema(struct jsonw *w, const char *const *names);
uint64_t gecko_time(const struct gecko *g, uint64_t time);
uint64_t gecko_address(const struct gecko *g, const struct frame *frame);

/* gecko_thread.c */
void gecko_tables_init(struct gecko *g);
void gecko_tables_release(struct gecko *g);
void gecko_write_thread(struct gecko *g, struct jsonw *w, const struct profile_thread *thread);
/* Returns rows of the thread being written, new or old. */
uint32_t gecko_string(struct gecko *g, const char *text);
uint32_t gecko_stack(struct gecko *g, stack_id stack, bool is_caller);

/* gecko_markers.c */
size_t gecko_category_count(const struct profile *p);
const char *gecko_category_name(const struct profile *p, size_t category);
void gecko_write_schemas(const struct gecko *g, struct jsonw *w);
void gecko_write_markers(struct gecko *g, struct jsonw *w, const struct profile_thread *thread);

#endif
