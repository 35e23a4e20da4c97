/* SPDX-License-Identifier: MIT */
/* The order of rows, and the busiest ones. */

#include <stdlib.h>
#include <string.h>

#include "lib/model/meaning/thread_rows.h"
#include "tests/unit/test.h"

struct ordered {
	struct profile *p;
	struct thread_rows rows;
};

static int setup(void **state)
{
	struct ordered *o = calloc(1, sizeof(*o));

	o->p = profile_new();
	*state = o;
	return 0;
}

static int teardown(void **state)
{
	struct ordered *o = *state;

	thread_rows_release(&o->rows);
	profile_free(o->p);
	free(o);
	return 0;
}

static thread_id add(struct ordered *o, uint32_t pid, uint32_t incarnation, uint32_t tid,
		     uint64_t process_start, uint64_t start)
{
	const struct profile_thread row = {
		.pid = pid,
		.incarnation = incarnation,
		.tid = tid,
		.process_start = process_start,
		.start = start,
		.is_main = pid == tid,
	};

	return threads_add(&o->p->threads, &row);
}

static void use_cpu(struct ordered *o, thread_id id, uint32_t cpu_ns)
{
	struct sample sample = {.time = 1, .stack = NO_STACK, .weight = 1, .cpu_delta = cpu_ns};

	samples_add(&threads_get(&o->p->threads, id)->samples, &sample);
}

static void expect_order(struct ordered *o, uint32_t root, const thread_id *expected, size_t count)
{
	o->p->meta.root_pid = root;
	thread_rows_init(&o->rows, o->p, NULL);
	assert_int_equal(o->rows.list.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(o->rows.members.items[o->rows.list.items[i].first], expected[i]);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(processes_by_start_then_main_thread_then_start)
{
	struct ordered *o = *state;
	/* In expected order; added in another one below. */
	thread_id expected[8];

	expected[4] = add(o, 20, 0, 22, 100, 200);
	expected[6] = add(o, 5, 1, 5, 300, 300);
	expected[3] = add(o, 20, 0, 20, 100, 250);
	expected[1] = add(o, 30, 0, 31, 50, 50);
	expected[5] = add(o, 20, 0, 21, 100, 210);
	expected[0] = add(o, 30, 0, 30, 50, 50);
	expected[7] = add(o, 6, 0, 6, 300, 300);
	expected[2] = add(o, 30, 0, 32, 50, 50);
	expect_order(o, 0, expected, 8);
}

/* Processes that start together do not mix. */
CASE(processes_stay_together)
{
	struct ordered *o = *state;

	for (uint32_t i = 0; i < 4; i++) {
		add(o, 10, 0, 10 + i * 2, 0, i);
		add(o, 11, 0, 11 + i * 2, 0, i);
	}
	thread_rows_init(&o->rows, o->p, NULL);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(o->rows.list.items[i].pid, i < 4 ? 10 : 11);
}

CASE(of_those_that_were_there_the_busiest_come_first)
{
	struct ordered *o = *state;
	thread_id expected[6];

	expected[3] = add(o, 3, 0, 3, 0, 0);
	expected[0] = add(o, 7, 0, 7, 0, 0);
	expected[2] = add(o, 7, 0, 8, 0, 0);
	expected[1] = add(o, 7, 0, 9, 0, 0);
	expected[4] = add(o, 4, 0, 4, 0, 0);
	expected[5] = add(o, 5, 0, 5, 9, 9);
	use_cpu(o, expected[1], 99);
	use_cpu(o, expected[2], 1);
	use_cpu(o, expected[5], 1000);
	expect_order(o, 0, expected, 6);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(o->rows.list.items[i].process_cpu_ns, 100);
	assert_int_equal(o->rows.list.items[1].cpu_ns, 99);
}

CASE(the_root_is_first_whenever_it_began)
{
	struct ordered *o = *state;
	thread_id expected[5];

	expected[2] = add(o, 3, 0, 3, 0, 0);
	expected[3] = add(o, 4, 0, 4, 10, 10);
	expected[1] = add(o, 9, 0, 8, 20, 25);
	expected[0] = add(o, 9, 0, 9, 20, 20);
	/* The same pid again. */
	expected[4] = add(o, 9, 1, 9, 30, 30);
	expect_order(o, 9, expected, 5);
}

CASE(no_threads_have_an_order_too)
{
	struct ordered *o = *state;
	uint32_t positions[1];

	expect_order(o, 0, NULL, 0);
	assert_int_equal(thread_rows_busiest(&o->rows, positions, 1), 0);
}

CASE(busiest_are_those_with_most_cpu_time)
{
	static const uint32_t cpu[] = {5, 90, 7, 90, 100, 0};
	struct ordered *o = *state;
	uint32_t positions[6];

	for (uint32_t i = 0; i < 6; i++) {
		/* Ids run against positions. */
		thread_id id = add(o, 10 - i, 0, 10 - i, 10 - i, 10 - i);

		use_cpu(o, id, cpu[5 - i]);
		/* The busiest thread has no sample of the clock. */
		if (cpu[5 - i] == 100)
			threads_get(&o->p->threads, id)->samples.open.items[0].event = 1;
	}
	thread_rows_init(&o->rows, o->p, NULL);
	assert_int_equal(thread_rows_busiest(&o->rows, positions, 6), 5);
	assert_int_equal(positions[0], 1);
	assert_int_equal(positions[1], 3);
	assert_int_equal(positions[2], 2);
	assert_int_equal(positions[3], 0);
	assert_int_equal(positions[4], 5);
	assert_int_equal(thread_rows_busiest(&o->rows, positions, 2), 2);
	assert_int_equal(positions[1], 3);
}
