/* SPDX-License-Identifier: MIT */
/* Rows of CPUs: their samples and their order, and that totals ignore them. */

#include <string.h>

#include "lib/model/meaning/thread_rows.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/test.h"

#define MS 1000000ull

/* Stacks are numbers here, which identify samples. */
static void tick(struct exported *f, uint64_t time, uint16_t cpu, thread_id thread, uint32_t weight,
		 stack_id stack)
{
	struct sample sample = {
		.time = EXPORT_START_NS + time,
		.stack = stack,
		.weight = weight,
		.cpu_delta = MS / 2,
		.cpu = cpu,
	};

	samples_add(&threads_get(&f->p->threads, thread)->samples, &sample);
}

/* Three threads that migrate, and an event, which is in no row of a CPU. */
static void fill_two_cpus(struct exported *f)
{
	struct sample event = {
		.time = EXPORT_START_NS + MS, .stack = 9, .weight = 1, .cpu = 3, .event = 1};

	for (uint32_t tid = 10; tid <= 30; tid += 10)
		export_add_thread(f, tid, tid, "task");
	tick(f, 1 * MS, 3, 0, 1, 0);
	tick(f, 2 * MS, 1, 0, 1, 1);
	tick(f, 9 * MS, 3, 0, 2, 2);
	tick(f, 3 * MS, 3, 1, 1, 3);
	tick(f, 5 * MS, 1, 2, 2, 4);
	tick(f, 6 * MS, NO_CPU, 2, 1, 5);
	samples_add(&threads_get(&f->p->threads, 1)->samples, &event);
}

struct viewed {
	struct string_overlay strings;
	struct thread_rows rows;
	struct samples own;
};

static void view(struct viewed *v, struct exported *f)
{
	f->p->meta.interval_ns = MS;
	*v = (struct viewed){.strings.base = &f->p->strings};
	thread_rows_init(&v->rows, f->p, &v->strings);
	thread_rows_add_cpus(&v->rows);
}

static void release(struct viewed *v)
{
	samples_release(&v->own);
	thread_rows_release(&v->rows);
	string_overlay_release(&v->strings);
}

static void expect_title(const struct viewed *v, size_t row, const char *process, const char *title)
{
	const struct thread_row *it = &v->rows.list.items[row];

	assert_string_equal(string_overlay_get(&v->strings, it->process_title), process);
	assert_string_equal(string_overlay_get(&v->strings, it->title), title);
}

#define CASE(name) TEST_WITH(name, export_setup, export_teardown)

CASE(a_cpu_has_what_ran_there)
{
	static const stack_id stacks[] = {0, 3, 2};
	static const uint32_t busy[] = {MS, MS, 2 * MS};
	struct exported *f = *state;
	const struct samples *run;
	struct viewed v;

	fill_two_cpus(f);
	view(&v, f);
	/* CPUs without samples have no row. Rows of CPUs come last, by number. */
	assert_int_equal(v.rows.list.count, 5);
	expect_title(&v, 3, "CPUs", "CPU 1");
	expect_title(&v, 4, "CPUs", "CPU 3");
	assert_false(v.rows.list.items[3].is_main || v.rows.list.items[4].is_main);
	run = thread_row_samples(&v.rows, &v.rows.list.items[3], &v.own);
	assert_int_equal(samples_count(run), 2);
	assert_int_equal(run->open.items[1].time, EXPORT_START_NS + 5 * MS);
	assert_int_equal(run->open.items[1].weight, 2);
	run = thread_row_samples(&v.rows, &v.rows.list.items[4], &v.own);
	assert_int_equal(samples_count(run), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(run->open.items[i].stack, stacks[i]);
		assert_int_equal(run->open.items[i].cpu_delta, busy[i]);
	}
	release(&v);
}

CASE(no_cpu_is_busy_for_longer_than_time_passed)
{
	struct exported *f = *state;
	const struct samples *run;
	struct viewed v;

	export_add_thread(f, 10, 10, "one");
	export_add_thread(f, 20, 20, "two");
	tick(f, 1 * MS, 0, 0, 1, 0);
	tick(f, 4 * MS, 0, 0, 1, 1);
	tick(f, 3 * MS, 0, 1, 1, 2);
	tick(f, 3 * MS + MS / 2, 0, 1, 1, 3);
	view(&v, f);
	run = thread_row_samples(&v.rows, &v.rows.list.items[2], &v.own);
	assert_int_equal(samples_count(run), 4);
	assert_int_equal(run->open.items[3].cpu_delta, MS / 2);
	assert_int_equal(run->open.items[2].cpu_delta, MS / 2);
	assert_int_equal(run->open.items[1].cpu_delta, 2 * MS);
	assert_int_equal(run->open.items[2].time, EXPORT_START_NS + 3 * MS + MS / 2);
	release(&v);
}

CASE(they_are_none_of_the_busiest)
{
	struct exported *f = *state;
	uint32_t positions[5];
	struct viewed v;

	fill_two_cpus(f);
	view(&v, f);
	assert_int_equal(thread_rows_busiest(&v.rows, positions, 5), 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(positions[i] < 3);
	release(&v);
}

CASE(they_are_written_where_asked_for)
{
	struct exported *f = *state;
	stack_id stack = stacks_intern(&f->p->stacks, NO_STACK,
				       export_add_frame(f, NO_MODULE, NO_FUNC, 16));

	export_add_thread(f, 10, 10, "task");
	tick(f, 1 * MS, 3, 0, 1, stack);
	f->options.cpus = true;
	export_run(f);
	assert_int_equal(json_array_size(export_at(f->root, "threads")), 2);
	export_expect(f->root, "threads.1.profView", "\"cpu\"");
	export_expect(f->root, "threads.1.pid", "\"cpus\"");
	export_expect(f->root, "threads.1.tid", "\"cpu3\"");
	assert_int_equal(f->counts.threads, 1);
	assert_int_equal(f->counts.processes, 1);
	json_decref(f->root);
	f->options.cpus = false;
	export_run(f);
	assert_int_equal(json_array_size(export_at(f->root, "threads")), 1);
}
