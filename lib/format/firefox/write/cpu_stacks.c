/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/cpu_stacks.h"

static bool is_equal(const void *table, uint32_t id, const void *key)
{
	const struct cpu_stack *row = &((const struct cpu_stacks *)table)->rows.items[id];
	const struct cpu_stack *wanted = key;

	return row->program == wanted->program && row->stack == wanted->stack;
}

static uint32_t find(const struct cpu_stacks *c, const struct cpu_stack *row)
{
	return index_find(&c->index, hash_pair(row->program, row->stack), is_equal, c, row);
}

static uint32_t add(struct cpu_stacks *c, const struct cpu_stack *row)
{
	uint32_t id = (uint32_t)c->rows.count;

	vec_push(&c->rows, *row);
	index_add(&c->index, hash_pair(row->program, row->stack), id);
	return id;
}

static uint32_t add_root(struct cpu_stacks *c, const struct profile *p, string_id program)
{
	struct cpu_stack row = {
		.frame = (uint32_t)(p->frames.rows.count + c->programs.count),
		.parent = NO_STACK,
		.program = program,
		.stack = NO_STACK,
	};

	vec_push(&c->programs, program);
	return add(c, &row);
}

uint32_t cpu_stacks_intern(struct cpu_stacks *c, const struct profile *p, string_id program,
			   stack_id stack)
{
	uint32_t first = (uint32_t)p->stacks.rows.count, id = INDEX_NONE;
	VEC(stack_id) missing = {0};

	/* The outer part of the stack may be there already. */
	for (;; stack = p->stacks.rows.items[stack].parent) {
		id = find(c, &(struct cpu_stack){.program = program, .stack = stack});
		if (id != INDEX_NONE || stack == NO_STACK)
			break;
		vec_push(&missing, stack);
	}
	if (id == INDEX_NONE)
		id = add_root(c, p, program);
	while (missing.count) {
		stack = missing.items[--missing.count];
		id = add(c, &(struct cpu_stack){
				    .frame = p->stacks.rows.items[stack].frame,
				    .parent = first + id,
				    .program = program,
				    .stack = stack,
			    });
	}
	vec_release(&missing);
	return first + id;
}

void cpu_stacks_release(struct cpu_stacks *c)
{
	vec_release(&c->rows);
	index_release(&c->index);
	vec_release(&c->programs);
}
