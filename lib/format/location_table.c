/* SPDX-License-Identifier: MIT */
#include "lib/format/location_table.h"

#include <stdlib.h>

#include "lib/base/alloc.h"

/* Is that frame inlined into the one of its caller? */
static bool is_inlined(const struct profile *p, const struct stack *stack)
{
	const struct frame *frame = &p->frames.rows.items[stack->frame], *caller;

	if (stack->parent == NO_STACK || !frame->inline_depth)
		return false;
	caller = &p->frames.rows.items[p->stacks.rows.items[stack->parent].frame];
	return caller->module == frame->module && caller->offset == frame->offset &&
	       caller->inline_depth + 1 == frame->inline_depth;
}

void location_table_init(struct location_table *t, const struct profile *p)
{
	size_t count = p->stacks.rows.count;

	*t = (struct location_table){
		.of_stacks = xcalloc(count + 1, sizeof(*t->of_stacks)),
		.callers = xcalloc(count + 1, sizeof(*t->callers)),
	};
	for (stack_id id = 0; id < count; id++) {
		const struct stack *stack = &p->stacks.rows.items[id];
		bool joins = is_inlined(p, stack);
		stack_id into = joins ? t->of_stacks[stack->parent] : NO_STACK;

		t->of_stacks[id] = stacks_intern(&t->chains, into, stack->frame);
		t->callers[id] = joins ? t->callers[stack->parent] : stack->parent;
	}
}

void location_table_release(struct location_table *t)
{
	stacks_release(&t->chains);
	free(t->of_stacks);
	free(t->callers);
}
