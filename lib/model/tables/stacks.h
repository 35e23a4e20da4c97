/* SPDX-License-Identifier: MIT */
/* One tree of stacks for all threads: a node is a frame called from the parent node. */
#ifndef PROF_LIB_MODEL_TABLES_STACKS_H
#define PROF_LIB_MODEL_TABLES_STACKS_H

#include <stdbool.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/model/tables/ids.h"

struct stack {
	stack_id parent; /* NO_STACK for a root; always smaller than the node's own id */
	frame_id frame;
};

struct stacks {
	VEC(struct stack) rows;
	struct index index;
};

void stacks_release(struct stacks *s);
stack_id stacks_intern(struct stacks *s, stack_id parent, frame_id frame);
/* Marks a stack and its parents in an array with a place for each stack. NO_STACK: none. */
void stacks_mark(const struct stacks *s, stack_id stack, bool *used);

#endif
