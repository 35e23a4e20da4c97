/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lib/profile/threads.h"

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct threads));
	return 0;
}

static int teardown(void **state)
{
	threads_release(*state);
	free(*state);
	return 0;
}

static thread_id add(struct threads *t, uint32_t pid, uint32_t incarnation, uint32_t tid,
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

	return threads_add(t, &row);
}

static void processes_by_start_then_main_thread_then_start(void **state)
{
	struct threads *t = *state;
	/* As they are expected; added in another order below. */
	thread_id expected[8], order[8];

	expected[4] = add(t, 20, 0, 22, 100, 200);
	expected[6] = add(t, 5, 1, 5, 300, 300);
	expected[3] = add(t, 20, 0, 20, 100, 250);
	expected[1] = add(t, 30, 0, 31, 50, 50);
	expected[5] = add(t, 20, 0, 21, 100, 210);
	expected[0] = add(t, 30, 0, 30, 50, 50);
	expected[7] = add(t, 6, 0, 6, 300, 300);
	expected[2] = add(t, 30, 0, 32, 50, 50);
	threads_order(t, 0, order);
	assert_memory_equal(order, expected, sizeof(order));
}

/* Two processes that start together do not mix. */
static void processes_stay_together(void **state)
{
	struct threads *t = *state;
	thread_id order[8];

	for (uint32_t i = 0; i < 4; i++) {
		add(t, 10, 0, 10 + i * 2, 0, i);
		add(t, 11, 0, 11 + i * 2, 0, i);
	}
	threads_order(t, 0, order);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(threads_get(t, order[i])->pid, i < 4 ? 10 : 11);
}

static void of_those_that_were_there_the_busiest_come_first(void **state)
{
	struct threads *t = *state;
	thread_id expected[6], order[6];

	expected[3] = add(t, 3, 0, 3, 0, 0);
	expected[0] = add(t, 7, 0, 7, 0, 0);
	expected[2] = add(t, 7, 0, 8, 0, 0);
	expected[1] = add(t, 7, 0, 9, 0, 0);
	expected[4] = add(t, 4, 0, 4, 0, 0);
	expected[5] = add(t, 5, 0, 5, 9, 9);
	for (size_t i = 0; i < 3; i++)
		threads_get(t, expected[i])->process_cpu_ns = 100;
	threads_get(t, expected[1])->cpu_ns = 99;
	threads_get(t, expected[2])->cpu_ns = 1;
	threads_get(t, expected[5])->process_cpu_ns = 1000;
	threads_order(t, 0, order);
	assert_memory_equal(order, expected, sizeof(order));
}

static void the_root_is_first_whenever_it_began(void **state)
{
	struct threads *t = *state;
	thread_id expected[5], order[5];

	expected[2] = add(t, 3, 0, 3, 0, 0);
	expected[3] = add(t, 4, 0, 4, 10, 10);
	expected[1] = add(t, 9, 0, 8, 20, 25);
	expected[0] = add(t, 9, 0, 9, 20, 20);
	/* The number, once more. */
	expected[4] = add(t, 9, 1, 9, 30, 30);
	threads_order(t, 9, order);
	assert_memory_equal(order, expected, sizeof(order));
}

static void no_threads_have_an_order_too(void **state)
{
	struct threads *t = *state;
	uint32_t positions[1];

	threads_order(t, 0, NULL);
	assert_int_equal(threads_busiest(t, NULL, positions, 1), 0);
}

static void busiest_are_those_with_most_cpu_time(void **state)
{
	static const uint64_t cpu[] = {5, 90, 7, 90, 100, 0};
	struct threads *t = *state;
	thread_id order[6];
	uint32_t positions[6];

	for (uint32_t i = 0; i < 6; i++) {
		/* Ids run against positions. */
		thread_id id = add(t, 10 - i, 0, 10 - i, 10 - i, 10 - i);
		struct profile_thread *row = threads_get(t, id);

		row->cpu_ns = cpu[5 - i];
		/* The busiest has no sample. */
		if (cpu[5 - i] != 100)
			vec_push(&row->samples, (struct sample){.time = 1});
	}
	threads_order(t, 0, order);
	assert_int_equal(threads_busiest(t, order, positions, 6), 5);
	assert_int_equal(positions[0], 1);
	assert_int_equal(positions[1], 3);
	assert_int_equal(positions[2], 2);
	assert_int_equal(positions[3], 0);
	assert_int_equal(positions[4], 5);
	assert_int_equal(threads_busiest(t, order, positions, 2), 2);
	assert_int_equal(positions[1], 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(processes_by_start_then_main_thread_then_start),
		TEST(processes_stay_together),
		TEST(of_those_that_were_there_the_busiest_come_first),
		TEST(the_root_is_first_whenever_it_began),
		TEST(no_threads_have_an_order_too),
		TEST(busiest_are_those_with_most_cpu_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
