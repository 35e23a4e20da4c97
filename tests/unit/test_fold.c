/* SPDX-License-Identifier: MIT */
/* Short-lived threads that share rows: which do, and that nothing is lost by it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/profile/fold.h"
#include "tests/unit/export_fixture.h"

#define MS 1000000ull

/* A process of one thread that came after `ms`, lived for 5 ms and used `cpu` ns. */
static struct profile_thread *add(struct exported *f, uint32_t pid, const char *name, uint64_t ms,
				  uint32_t cpu)
{
	struct profile_thread *row = export_add_thread(f, pid, pid, name);

	row->start = row->process_start = EXPORT_START_NS + ms * MS;
	row->end = row->process_end = row->start + 5 * MS;
	export_add_sample(row, (ms + 1) * MS, NO_STACK, 0);
	export_add_sample(row, (ms + 4) * MS, NO_STACK, cpu);
	return row;
}

static void find(struct exported *f, const char *name, thread_id *id)
{
	for (*id = 0; *id < f->p->threads.rows.count; ++*id) {
		const struct profile_thread *row = threads_get(&f->p->threads, *id);

		if (!strcmp(strings_get(&f->p->strings, row->name), name))
			return;
	}
	fail_msg("no row %s", name);
}

static bool has_pid(struct exported *f, uint32_t pid)
{
	vec_for_each(&f->p->threads.rows, const struct profile_thread *, row) {
		if (row->pid == pid && !row->is_folded)
			return true;
	}
	return false;
}

static void few_threads_stay_as_they_are(void **state)
{
	struct exported *f = *state;
	struct fold_counts counts;

	add(f, 10, "cc", 1, 5);
	add(f, 11, "cc", 2, 5);
	counts = fold_threads(f->p, 2);
	assert_int_equal(counts.rows + counts.threads, 0);
	assert_int_equal(f->p->threads.rows.count, 2);
}

static void the_rest_is_folded_by_program(void **state)
{
	struct exported *f = *state;
	struct fold_counts counts;
	struct profile_thread *row;
	thread_id id;

	export_add_thread(f, 5, 5, "make")->end = EXPORT_START_NS + 50 * MS;
	f->p->meta.root_pid = 5;
	/* The last is the busiest of all. */
	for (uint32_t i = 0; i < 4; i++)
		add(f, 10 + i, "cc", 10 - 2 * i, 100 + i);
	for (uint32_t i = 0; i < 2; i++)
		add(f, 20 + i, "as", 20 + i, 50);
	vec_push(&threads_get(&f->p->threads, 2)->markers, (struct marker){.kind = MARKER_EXEC});
	vec_push(&threads_get(&f->p->threads, 3)->markers, (struct marker){.kind = MARKER_EXEC});
	counts = fold_threads(f->p, 2);
	assert_int_equal(counts.rows, 2);
	assert_int_equal(counts.threads, 5);
	assert_int_equal(f->p->threads.rows.count, 4);
	assert_true(has_pid(f, 5) && has_pid(f, 13));

	find(f, "cc × 3, short-lived", &id);
	row = threads_get(&f->p->threads, id);
	/* Of the first of them. */
	assert_int_equal(row->pid, 12);
	assert_true(row->is_main && row->is_folded);
	assert_int_equal(row->start, EXPORT_START_NS + 6 * MS);
	assert_int_equal(row->process_start, row->start);
	assert_int_equal(row->end, EXPORT_START_NS + 15 * MS);
	assert_int_equal(row->cpu_ns, 100 + 101 + 102);
	assert_int_equal(row->markers.count, 2);
	assert_int_equal(row->samples.count, 6);
	for (size_t i = 1; i < 6; i++)
		assert_true(row->samples.items[i - 1].time <= row->samples.items[i].time);
	find(f, "as × 2, short-lived", &id);
	assert_int_equal(threads_get(&f->p->threads, id)->samples.count, 4);
}

/* Those that were there before or are there still, as much as that may be. */
static void long_lived_threads_keep_their_rows(void **state)
{
	struct exported *f = *state;

	export_add_thread(f, 5, 5, "init")->end = EXPORT_START_NS + MS;
	for (uint32_t i = 0; i < 3; i++)
		add(f, 10 + i, "daemon", 1 + i, 1)->end = 0;
	for (uint32_t i = 0; i < 3; i++)
		add(f, 20 + i, "cc", 1 + i, 1000);
	assert_int_equal(fold_threads(f->p, 2).threads, 3);
	assert_int_equal(f->p->threads.rows.count, 5);
	assert_true(has_pid(f, 5) && has_pid(f, 10) && has_pid(f, 12));
}

static void main_threads_stay_with_their_others(void **state)
{
	struct exported *f = *state;
	struct profile_thread *row;

	export_add_thread(f, 5, 5, "make");
	for (uint32_t pid = 10; pid <= 30; pid += 10) {
		add(f, pid, "java", pid, 1);
		row = add(f, pid, "java", pid, pid == 20 ? 1000 : 10);
		row->tid = pid + 1;
		row->is_main = false;
	}
	/* One place is left: the busiest worker takes it, and its main thread comes with it. */
	assert_int_equal(fold_threads(f->p, 2).threads, 4);
	assert_int_equal(f->p->threads.rows.count, 4);
	assert_true(has_pid(f, 20));
	assert_int_equal(profile_process_count(f->p), 3);
}

/* The only one of its program would not save a row. */
static void single_programs_share_a_row(void **state)
{
	struct exported *f = *state;
	thread_id id;

	export_add_thread(f, 5, 5, "make");
	add(f, 10, "a", 1, 1);
	add(f, 11, "b", 2, 1);
	add(f, 12, "c", 3, 1);
	assert_int_equal(fold_threads(f->p, 1).rows, 1);
	find(f, "other programs × 3, short-lived", &id);
	assert_int_equal(f->p->threads.rows.count, 2);
}

static void one_alone_keeps_its_row(void **state)
{
	struct exported *f = *state;

	export_add_thread(f, 5, 5, "make");
	add(f, 10, "a", 1, 1);
	assert_int_equal(fold_threads(f->p, 1).threads, 0);
	assert_int_equal(f->p->threads.rows.count, 2);
	assert_true(has_pid(f, 10));
}

static void add_event(struct exported *f, thread_id owner, const char *name)
{
	struct profile_thread row = *threads_get(&f->p->threads, owner);
	thread_id id;

	row.event = 1;
	row.owner = owner;
	row.is_main = false;
	row.name = export_intern(f, name);
	memset(&row.samples, 0, sizeof(row.samples));
	id = threads_add(&f->p->threads, &row);
	vec_push(&threads_get(&f->p->threads, id)->samples,
		 (struct sample){.time = row.start + MS, .stack = NO_STACK, .weight = 7});
}

static void rows_of_events_and_cpus_go_along(void **state)
{
	struct exported *f = *state;
	struct profile_thread *row;
	thread_id id, owner;

	export_add_thread(f, 0, 0, "CPU 0")->is_cpu = true;
	for (uint32_t i = 0; i < 2; i++)
		add(f, 10 + i, "cc", 10 + i, 1);
	export_add_thread(f, 5, 5, "make");
	f->p->meta.root_pid = 5;
	add_event(f, 1, "cc (faults)");
	add_event(f, 2, "cc (faults)");
	add_event(f, 3, "make (faults)");
	assert_int_equal(fold_threads(f->p, 1).threads, 2);
	assert_int_equal(f->p->threads.rows.count, 5);
	find(f, "CPU 0", &id);
	find(f, "make", &owner);
	find(f, "make (faults)", &id);
	assert_int_equal(threads_get(&f->p->threads, id)->owner, owner);
	find(f, "cc × 2, short-lived", &owner);
	find(f, "cc × 2, short-lived (faults)", &id);
	row = threads_get(&f->p->threads, id);
	assert_int_equal(row->owner, owner);
	assert_int_equal(row->samples.count, 2);
	assert_false(row->is_main);
	assert_int_equal(row->process_start, threads_get(&f->p->threads, owner)->process_start);
	assert_int_equal(row->process_name, threads_get(&f->p->threads, owner)->process_name);
}

/* As it is in the file: ids that no thread has, and gaps of the whole row. */
static void a_file_with_folded_rows(void **state)
{
	struct exported *f = *state;
	json_t *root;

	export_add_thread(f, 5, 5, "make");
	f->p->meta.root_pid = 5;
	f->p->meta.interval_ns = MS;
	for (uint32_t i = 0; i < 600; i++)
		add(f, 10, "cc", 10 + 100 * i, i)->incarnation = i;
	root = export_run(f);
	assert_int_equal(json_array_size(export_at(root, "threads")), 501);
	assert_int_equal(f->counts.folded_threads, 101);
	assert_int_equal(f->counts.folded_rows, 1);
	export_expect(root, "threads.0.processType", "\"default\"");
	export_expect(root, "threads.1.processName", "\"cc × 101, short-lived\"");
	export_expect(root, "threads.1.profView", "\"folded\"");
	export_expect(root, "threads.1.pid", "\"10+\"");
	export_expect(root, "threads.1.tid", "\"10+\"");
	export_expect(root, "threads.1.isMainThread", "true");
	export_expect(root, "threads.1.processType", "\"process\"");
	export_expect(root, "meta.extra.0.entries.3.value", "101");
}

static void all_threads_on_demand(void **state)
{
	struct exported *f = *state;

	f->options.all_threads = true;
	for (uint32_t i = 0; i < 600; i++)
		add(f, 10 + i, "cc", 10, i);
	export_run(f);
	assert_int_equal(json_array_size(export_at(f->root, "threads")), 600);
	assert_int_equal(f->counts.folded_threads, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, export_setup, export_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(few_threads_stay_as_they_are),
		TEST(the_rest_is_folded_by_program),
		TEST(long_lived_threads_keep_their_rows),
		TEST(main_threads_stay_with_their_others),
		TEST(single_programs_share_a_row),
		TEST(one_alone_keeps_its_row),
		TEST(rows_of_events_and_cpus_go_along),
		TEST(a_file_with_folded_rows),
		TEST(all_threads_on_demand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
