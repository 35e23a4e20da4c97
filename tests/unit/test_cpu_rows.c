/* SPDX-License-Identifier: MIT */
/* Rows of CPUs: what is on them, where they stand, and that nothing counts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/cleanup.h"
#include "tests/unit/session_fixture.h"

#define MS 1000000ull

static int setup(void **state)
{
	struct fed *f;

	fed_setup(state);
	f = *state;
	f->p->meta.interval_ns = MS;
	return 0;
}

static void feed_two_cpus(struct fed *f)
{
	feed_tick(f, 1 * MS, 3, 10, 1);
	feed_tick(f, 2 * MS, 3, 20, 1);
	feed_tick(f, 2 * MS, 1, 10, 1);
	feed_tick(f, 5 * MS, 1, 30, 2);
	feed_tick(f, 9 * MS, 3, 10, 2);
	feed_end(f, 10 * MS);
}

static struct profile_thread *cpu_row(struct fed *f, uint32_t cpu)
{
	vec_for_each(&f->p->threads.rows, struct profile_thread *, row) {
		if (row->is_cpu && row->tid == cpu)
			return row;
	}
	return NULL;
}

static void nobody_asked_nothing_is_there(void **state)
{
	struct fed *f = *state;

	feed_two_cpus(f);
	assert_int_equal(f->p->threads.rows.count, 3);
	assert_null(cpu_row(f, 1));
	assert_null(cpu_row(f, 3));
}

static void a_cpu_has_what_ran_there(void **state)
{
	static const uint32_t used[] = {MS, MS, 2 * MS};
	struct fed *f = *state;
	const struct profile_thread *one, *three;

	session_keep_cpus(f->s);
	feed_two_cpus(f);
	one = cpu_row(f, 1);
	three = cpu_row(f, 3);
	assert_null(cpu_row(f, 0));
	assert_null(cpu_row(f, 2));
	fed_expect_name(f, one->name, "CPU 1");
	fed_expect_name(f, one->process_name, "CPUs");
	assert_false(one->is_main);
	assert_false(three->is_main);
	assert_int_equal(one->samples.count, 2);
	assert_int_equal(one->samples.items[1].time, SESSION_START_NS + 5 * MS);
	assert_int_equal(one->samples.items[1].weight, 2);
	assert_int_equal(three->samples.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(three->samples.items[i].cpu_delta, used[i]);
	fed_expect_stack(f, three, 1, "0x10");
}

static void no_cpu_is_busy_for_longer_than_time_passed(void **state)
{
	struct fed *f = *state;
	const struct profile_thread *row;

	session_keep_cpus(f->s);
	feed_tick(f, 1 * MS, 0, 10, 1);
	feed_tick(f, 3 * MS, 0, 20, 1);
	/* Later than the ones that follow: their order is that of time. */
	feed_tick(f, 4 * MS, 0, 10, 1);
	feed_tick(f, 3 * MS + MS / 2, 0, 20, 1);
	feed_end(f, 5 * MS);
	row = cpu_row(f, 0);
	assert_int_equal(row->samples.items[3].cpu_delta, MS / 2);
	assert_int_equal(row->samples.items[2].cpu_delta, MS / 2);
	assert_int_equal(row->samples.items[1].cpu_delta, 2 * MS);
	assert_int_equal(row->samples.items[2].time, SESSION_START_NS + 3 * MS + MS / 2);
}

static void samples_are_counted_once(void **state)
{
	struct fed *f = *state;

	session_keep_cpus(f->s);
	feed_two_cpus(f);
	assert_int_equal(f->p->threads.rows.count, 5);
	assert_int_equal(f->p->stats.cpu_samples, 7);
	assert_int_equal(profile_sample_count(f->p), 5);
	assert_int_equal(profile_thread_count(f->p), 3);
	assert_int_equal(profile_process_count(f->p), 3);
}

static void they_are_last_and_none_of_the_busiest(void **state)
{
	struct fed *f = *state;
	struct threads *t = &f->p->threads;
	uint32_t positions[5];
	thread_id order[5];

	session_keep_cpus(f->s);
	feed_two_cpus(f);
	/* A process that began after them, and a CPU that was busier than the one before it. */
	threads_get(t, 2)->process_start = UINT64_MAX;
	cpu_row(f, 3)->process_cpu_ns = UINT64_MAX;
	threads_order(t, 0, order);
	assert_int_equal(order[2], 2);
	assert_ptr_equal(threads_get(t, order[3]), cpu_row(f, 1));
	assert_ptr_equal(threads_get(t, order[4]), cpu_row(f, 3));
	assert_int_equal(threads_busiest(t, order, positions, 5), 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(positions[i] < 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody_asked_nothing_is_there),
		TEST(a_cpu_has_what_ran_there),
		TEST(no_cpu_is_busy_for_longer_than_time_passed),
		TEST(samples_are_counted_once),
		TEST(they_are_last_and_none_of_the_busiest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
