/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/tasks.h"
#include "tests/unit/test.h"

#define SECOND 1000000000ull

static process_id end_one(struct ended_spaces *e, struct process_table *t, uint64_t end)
{
	process_id id = process_table_add(t, 100, 0, TASK_FORKED, mapping_table_new());
	const struct mapping mapping = {.start = 4096, .end = 8192};
	struct process *process = &t->rows.items[id];

	mapping_table_insert(&process->mappings, &mapping, 1);
	process->replaced = mapping_table_hold(process->mappings);
	process->has_ended = true;
	process->end = end;
	ended_spaces_add(e, t, id);
	return id;
}

static size_t mapping_count(const struct process_table *t, process_id id)
{
	return t->rows.items[id].mappings->rows.count;
}

/* Late samples are resolved by them, so they stay for a while. */
TEST(mappings_go_a_while_after_the_end)
{
	struct process_table t = {0};
	struct ended_spaces e = {0};
	process_id first = end_one(&e, &t, SECOND), last;

	for (uint64_t i = 0; i < 1000; i++) {
		last = end_one(&e, &t, (2 + i) * SECOND);
		assert_int_equal(mapping_count(&t, last), 1);
		if (i >= 11)
			assert_int_equal(mapping_count(&t, last - 10), 1);
		assert_int_equal(mapping_count(&t, first), i < 30);
	}
	assert_int_equal(mapping_count(&t, last - 40), 0);
	assert_null(t.rows.items[last - 40].replaced);
	assert_in_range(e.rows.count - e.first, 20, 40);
	assert_in_range(e.rows.count, 20, 80);
	ended_spaces_release(&e);
	process_table_release(&t);
}
