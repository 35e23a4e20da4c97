/* SPDX-License-Identifier: MIT */
/* Stacks as rows of an engine, independent of the ids on each machine. */
#pragma once

#include "lib/model/meaning/categories.h"
#include "lib/model/tables/frames.h"
#include "lib/model/tables/profile.h"

/* Values of the column "kind" of stacks. */

static const char *const fleet_kind_names[] = {
	[PROFILE_FRAME_NATIVE] = "native", [PROFILE_FRAME_KERNEL] = "kernel",
	[PROFILE_FRAME_GUESS] = "guess",   [PROFILE_FRAME_SIGNAL] = "signal",
	[PROFILE_FRAME_LABEL] = "wait",	   [PROFILE_FRAME_MANAGED] = "managed",
};
#define FLEET_KIND_COUNT (sizeof(fleet_kind_names) / sizeof(*fleet_kind_names))
/* Replaces "native" for frames in JavaScript. */
#define FLEET_KIND_SCRIPT "script"

#define STACK_KEY_SIZE 16

/* Name of a stack: a hash of its contents. */
struct stack_key {
	uint8_t bytes[STACK_KEY_SIZE];
};

struct stack_row {
	struct stack_key key;
	stack_id stack; /* any stack with these contents */
	bool is_wait, is_guessed, is_unnamed;
};

/* A zeroed struct is empty. */
struct stack_rows {
	const struct profile *profile;
	struct frame_category *of_frames; /* by frame_id */
	uint32_t *of_stacks; /* by stack_id, with NO_STACK last: row plus 1, or 0 */
	VEC(struct stack_row) rows;
	struct index index; /* index of keys */
	struct strbuf text; /* row being built */
};

void stack_rows_init(struct stack_rows *s, const struct profile *p);
void stack_rows_release(struct stack_rows *s);
/* Returns the number of the stack's row, adding it if new. */
uint32_t stack_rows_intern(struct stack_rows *s, stack_id stack);
/* Appends the row in RowBinary format. */
void stack_rows_write(struct stack_rows *s, uint32_t row, struct strbuf *out);
