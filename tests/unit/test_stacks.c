/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "lib/model/tables/frames.h"
#include "tests/unit/test.h"

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct stacks));
	return 0;
}

static int teardown(void **state)
{
	stacks_release(*state);
	free(*state);
	return 0;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(a_stack_is_parent_and_frame)
{
	struct stacks *s = *state;
	stack_id root = stacks_intern(s, NO_STACK, 7);
	stack_id child = stacks_intern(s, root, 8);

	assert_int_equal(stacks_intern(s, NO_STACK, 7), root);
	assert_int_equal(stacks_intern(s, root, 8), child);
	assert_int_not_equal(stacks_intern(s, NO_STACK, 8), child);
	assert_int_not_equal(stacks_intern(s, child, 8), child);
	assert_int_not_equal(stacks_intern(s, root, 7), root);
	assert_int_equal(s->rows.count, 5);
	assert_int_equal(s->rows.items[child].parent, root);
	assert_int_equal(s->rows.items[child].frame, 8);
}

CASE(parents_come_first_and_nothing_is_twice)
{
	struct stacks *s = *state;
	stack_id recent[64];

	srand(3);
	for (size_t i = 0; i < 64; i++)
		recent[i] = NO_STACK;
	for (unsigned int i = 0; i < 50000; i++) {
		size_t at = (size_t)rand() % 64;
		frame_id frame = (frame_id)rand() % 20;

		if (rand() % 50 == 0)
			recent[at] = NO_STACK;
		recent[at] = stacks_intern(s, recent[(size_t)rand() % 64], frame);
	}
	assert_true(s->rows.count > 1000);
	for (size_t i = 0; i < s->rows.count; i++) {
		const struct stack *row = &s->rows.items[i];

		assert_true(row->parent == NO_STACK || row->parent < i);
		assert_int_equal(stacks_intern(s, row->parent, row->frame), i);
	}
}

CASE(recursion_is_as_deep_as_it_was)
{
	struct stacks *s = *state;
	stack_id id = NO_STACK;

	for (unsigned int i = 0; i < 10000; i++)
		id = stacks_intern(s, id, 1);
	assert_int_equal(s->rows.count, 10000);
	assert_int_equal(id, 9999);
}
