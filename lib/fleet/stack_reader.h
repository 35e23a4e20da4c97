/* SPDX-License-Identifier: MIT */
/* Stacks of an engine → those of a profile. */
#ifndef PROF_LIB_FLEET_STACK_READER_H
#define PROF_LIB_FLEET_STACK_READER_H

#include "lib/base/bytes.h"
#include "lib/base/error.h"
#include "lib/fleet/stack_rows.h"
#include "lib/format/foreign.h"

/* Columns of prof_stacks in the order that is read. */
#define STACK_COLUMNS \
	"name, is_named, file, line, function_line, function_column, module, build_id, address," \
	" kind, inline_depth, category, subcategory"

/* Zeroed is empty. */
struct stack_reader {
	struct foreign *f;
	VEC(struct {
		struct stack_key key;
		stack_id stack;
	})
	rows;
	struct index index;
};

void stack_reader_release(struct stack_reader *r);
/* Reads all rows. The first of several with one key counts. */
int stack_reader_read(struct stack_reader *r, struct bytes *b, struct error *err);
/* Returns NO_STACK if there is no such row. */
stack_id stack_reader_find(const struct stack_reader *r, const struct stack_key *key);

#endif
