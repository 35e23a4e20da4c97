/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/stacks.h"

void stacks_release(struct stacks *s)
{
	vec_release(&s->rows);
	index_release(&s->index);
}

static bool stack_equal(const void *table, uint32_t id, const void *key)
{
	const struct stack *a = &((const struct stacks *)table)->rows.items[id], *b = key;

	return a->parent == b->parent && a->frame == b->frame;
}

stack_id stacks_intern(struct stacks *s, stack_id parent, frame_id frame)
{
	struct stack stack = {parent, frame};
	uint64_t hash = hash_u64((uint64_t)parent << 32 | frame);
	stack_id id = INDEX_NONE;

	/* The newest stack is the parent of none yet: so are all but the first of a new chain. */
	if (parent == NO_STACK || parent + 1 != s->rows.count)
		id = index_find(&s->index, hash, stack_equal, s, &stack);

	if (id != INDEX_NONE)
		return id;
	id = (stack_id)s->rows.count;
	vec_push(&s->rows, stack);
	index_add(&s->index, hash, id);
	return id;
}

void stacks_mark(const struct stacks *s, stack_id stack, bool *used)
{
	for (; stack != NO_STACK && !used[stack]; stack = s->rows.items[stack].parent)
		used[stack] = true;
}
