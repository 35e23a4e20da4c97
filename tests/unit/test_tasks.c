/* SPDX-License-Identifier: MIT */
/* Lives of processes and threads, by their fork, name and exit records. */

#include "lib/stream/record/records.h"
#include "tests/unit/session_fixture.h"
#include "tests/unit/test.h"

#define T0 SESSION_START_NS

static void expect_times(const struct profile_thread *row, uint64_t start, uint64_t end)
{
	assert_int_equal(row->start, T0 + start);
	assert_int_equal(row->end, end ? T0 + end : 0);
}

static void expect_process_times(const struct profile_thread *row, uint64_t start, uint64_t end)
{
	assert_int_equal(row->process_start, T0 + start);
	assert_int_equal(row->process_end, end ? T0 + end : 0);
}

#define CASE(name) TEST_WITH(name, fed_setup, fed_teardown)

CASE(what_ran_already_starts_with_the_recording)
{
	struct fed *f = *state;

	feed_name(f, 50, 10, 10, NAME_SCAN, "main");
	feed_name(f, 50, 10, 11, NAME_SCAN, "worker");
	/* A thread with a sample before the scan reaches it. */
	feed_leaf(f, 60, 20, 21, 0x10);
	feed_name(f, 70, 20, 21, NAME_SCAN, "late");
	/* A thread whose start is certain. */
	feed_fork(f, 80, 30, 30, 1, "child");
	feed_name(f, 90, 30, 30, NAME_SCAN, "child2");
	feed_name(f, 90, 30, 31, NAME_SCAN, "thread");
	feed_end(f, 100);
	expect_times(fed_thread(f, 10, 0, 10), 0, 0);
	expect_times(fed_thread(f, 10, 0, 11), 0, 0);
	expect_times(fed_thread(f, 20, 0, 20), 0, 0);
	expect_times(fed_thread(f, 20, 0, 21), 0, 0);
	expect_process_times(fed_thread(f, 20, 0, 21), 0, 0);
	expect_times(fed_thread(f, 30, 0, 30), 80, 0);
	expect_times(fed_thread(f, 30, 0, 31), 80, 0);
	fed_expect_name(f, fed_thread(f, 10, 0, 11)->name, "worker");
	fed_expect_name(f, fed_thread(f, 10, 0, 11)->process_name, "main");
	fed_expect_name(f, fed_thread(f, 30, 0, 30)->name, "child2");
	assert_int_equal(fed_thread(f, 10, 0, 10)->markers.count, 0);
}

CASE(nothing_is_older_than_the_recording)
{
	struct fed *f = *state;

	feed_fork(f, -500ull, 10, 10, 1, "early");
	feed_leaf(f, -400ull, 10, 10, 0x10);
	feed_name(f, -300ull, 10, 10, NAME_EXEC, "exec");
	feed_fork(f, -200ull, 11, 11, 10, "gone");
	feed_exit(f, -100ull, 11, 11, EXIT_PROCESS);
	feed_end(f, 100);
	expect_times(fed_thread(f, 10, 0, 10), 0, 0);
	assert_int_equal(fed_thread(f, 10, 0, 10)->samples.open.items[0].time, T0);
	assert_int_equal(fed_thread(f, 10, 0, 10)->markers.items[0].start, T0);
	assert_int_equal(fed_thread(f, 11, 0, 11)->end, T0);
}

CASE(a_process_ends_with_its_last_thread)
{
	struct fed *f = *state;

	feed_fork(f, 10, 10, 10, 1, "p");
	feed_fork(f, 20, 10, 11, 10, "p");
	feed_fork(f, 20, 10, 12, 10, "p");
	feed_exit(f, 30, 10, 10, 0);
	feed_exit(f, 40, 10, 11, EXIT_PROCESS);
	feed_leaf(f, 45, 10, 11, 0x10);
	feed_end(f, 50);
	expect_times(fed_thread(f, 10, 0, 10), 10, 30);
	expect_times(fed_thread(f, 10, 0, 11), 20, 45);
	expect_times(fed_thread(f, 10, 0, 12), 20, 40);
	expect_process_times(fed_thread(f, 10, 0, 12), 10, 45);
	assert_int_equal(samples_count(&fed_thread(f, 10, 0, 11)->samples), 1);
	assert_int_equal(fed_thread(f, 10, 0, 11)->incarnation, 0);
}

CASE(nothing_comes_after_the_end)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0x10};

	feed_fork(f, 10, 10, 10, 1, "p");
	/* This sample waits for its stack, and an older exit is late. */
	feed_sample(f, 50, 10, 10, 0, 0x10, 7, 16);
	feed_exit(f, 40, 10, 10, EXIT_PROCESS);
	feed_stack(f, 55, 7, 0, addrs, 0, 1, NULL);
	/* Both threads take themselves for the last. */
	feed_fork(f, 60, 20, 20, 1, "q");
	feed_fork(f, 60, 20, 21, 20, "q");
	feed_exit(f, 70, 20, 20, EXIT_PROCESS);
	feed_exit(f, 75, 20, 21, EXIT_PROCESS);
	feed_end(f, 100);
	assert_int_equal(vec_last(&fed_thread(f, 10, 0, 10)->samples.open).time, T0 + 50);
	expect_times(fed_thread(f, 10, 0, 10), 10, 50);
	expect_process_times(fed_thread(f, 10, 0, 10), 10, 50);
	expect_times(fed_thread(f, 20, 0, 21), 60, 75);
	expect_process_times(fed_thread(f, 20, 0, 20), 60, 75);
}

CASE(a_leader_that_exits_ends_nothing_else)
{
	struct fed *f = *state;

	feed_fork(f, 10, 10, 10, 1, "p");
	feed_fork(f, 20, 10, 11, 10, "p");
	feed_exit(f, 30, 10, 10, 0);
	feed_end(f, 50);
	expect_times(fed_thread(f, 10, 0, 10), 10, 30);
	expect_times(fed_thread(f, 10, 0, 11), 20, 0);
	expect_process_times(fed_thread(f, 10, 0, 11), 10, 0);
}

CASE(a_pid_can_be_used_again)
{
	struct fed *f = *state;

	feed_fork(f, 10, 10, 10, 1, "first");
	feed_exit(f, 20, 10, 10, EXIT_PROCESS);
	feed_fork(f, 30, 10, 10, 1, "second");
	feed_fork(f, 35, 10, 11, 10, "thread");
	feed_leaf(f, 36, 10, 11, 0x10);
	/* Its exit was lost. */
	feed_fork(f, 40, 10, 10, 1, "third");
	feed_leaf(f, 50, 10, 11, 0x10);
	feed_end(f, 60);
	expect_times(fed_thread(f, 10, 0, 10), 10, 20);
	expect_times(fed_thread(f, 10, 1, 10), 30, 40);
	expect_times(fed_thread(f, 10, 1, 11), 35, 40);
	expect_process_times(fed_thread(f, 10, 1, 11), 30, 40);
	expect_times(fed_thread(f, 10, 2, 10), 40, 0);
	fed_expect_name(f, fed_thread(f, 10, 1, 10)->name, "second");
	fed_expect_name(f, fed_thread(f, 10, 2, 10)->name, "third");
	assert_int_equal(samples_count(&fed_thread(f, 10, 1, 11)->samples), 1);
	assert_int_equal(samples_count(&fed_thread(f, 10, 2, 11)->samples), 1);
	assert_int_equal(profile_process_count(f->p), 3);
}

CASE(only_the_living_execute_and_make_threads)
{
	struct fed *f = *state;

	for (uint32_t pid = 10; pid < 13; pid++)
		feed_exit(f, 10, pid, pid, EXIT_PROCESS);
	feed_name(f, 20, 10, 10, NAME_EXEC, "again");
	feed_fork(f, 20, 11, 21, 11, "thread");
	feed_name(f, 20, 12, 12, NAME_NEW_SPACE, "");
	/* Readings of /proc may be late. */
	feed_exit(f, 20, 13, 13, EXIT_PROCESS);
	feed_name(f, 30, 13, 13, NAME_SCAN, "late");
	feed_map(f, 30, 13, 0x1000, 0x2000, 0, 0);
	feed_end(f, 40);
	for (uint32_t pid = 10; pid < 13; pid++)
		expect_times(fed_thread(f, pid, 1, pid), 20, 0);
	fed_expect_name(f, fed_thread(f, 13, 0, 13)->name, "late");
	assert_int_equal(profile_process_count(f->p), 7);
}

CASE(a_fork_record_that_is_late_is_no_reuse)
{
	struct fed *f = *state;

	feed_module(f, 0, "/bin/app");
	feed_map(f, 0, 1, 0x1000, 0x2000, 0, 0);
	feed_leaf(f, 20, 10, 10, 0x1010);
	feed_leaf(f, 20, 10, 11, 0x1010);
	feed_fork(f, 15, 10, 10, 1, "child");
	feed_fork(f, 18, 10, 11, 10, "thread");
	feed_leaf(f, 30, 10, 10, 0x1010);
	feed_end(f, 40);
	expect_times(fed_thread(f, 10, 0, 10), 15, 0);
	expect_times(fed_thread(f, 10, 0, 11), 18, 0);
	fed_expect_name(f, fed_thread(f, 10, 0, 11)->name, "thread");
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 1, "app+0x10");
	assert_int_equal(f->p->stats.late_records, 2);
}

CASE(a_tid_can_be_used_again)
{
	struct fed *f = *state;
	size_t found = 0;

	feed_fork(f, 10, 10, 10, 1, "p");
	feed_fork(f, 20, 10, 11, 10, "one");
	feed_exit(f, 30, 10, 11, 0);
	feed_fork(f, 40, 10, 11, 10, "two");
	feed_leaf(f, 50, 10, 11, 0x10);
	feed_end(f, 60);
	vec_for_each(&f->p->threads.rows, const struct profile_thread *, row) {
		if (row->tid != 11)
			continue;
		expect_times(row, found ? 40 : 20, found ? 0 : 30);
		assert_int_equal(samples_count(&row->samples), found);
		found++;
	}
	assert_int_equal(found, 2);
}

CASE(a_child_has_its_parents_mappings_until_either_changes)
{
	struct fed *f = *state;

	feed_module(f, 0, "/bin/sh");
	feed_module(f, 1, "/bin/ls");
	feed_map(f, 0, 10, 0x1000, 0x2000, 0, 0);
	feed_fork(f, 10, 11, 11, 10, "sh");
	feed_map(f, 15, 10, 0x3000, 0x4000, 0, 1);
	feed_leaf(f, 20, 11, 11, 0x1010);
	feed_leaf(f, 20, 11, 11, 0x3010);
	feed_name(f, 30, 11, 11, NAME_NEW_SPACE, "");
	feed_map(f, 30, 11, 0x1000, 0x2000, 0, 1);
	feed_name(f, 31, 11, 11, NAME_EXEC, "ls");
	feed_leaf(f, 40, 11, 11, 0x1010);
	feed_leaf(f, 40, 10, 10, 0x1010);
	feed_end(f, 50);
	fed_expect_stack(f, fed_thread(f, 11, 0, 11), 0, "sh+0x10");
	fed_expect_stack(f, fed_thread(f, 11, 0, 11), 1, "0x3010");
	fed_expect_stack(f, fed_thread(f, 11, 0, 11), 2, "ls+0x10");
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 0, "sh+0x10");
}

CASE(an_exec_keeps_the_entry)
{
	struct fed *f = *state;
	const struct profile_thread *row;

	feed_fork(f, 10, 10, 10, 1, "sh");
	feed_fork(f, 20, 10, 11, 10, "sh");
	feed_name(f, 25, 10, 10, 0, "other");
	/* The kernel renames the task before it reports the exec. */
	feed_name(f, 29, 10, 10, 0, "ls");
	feed_name(f, 30, 10, 10, NAME_EXEC, "ls");
	feed_end(f, 40);
	row = fed_thread(f, 10, 0, 10);
	fed_expect_name(f, row->name, "ls");
	fed_expect_name(f, row->process_name, "ls");
	expect_times(row, 10, 0);
	expect_times(fed_thread(f, 10, 0, 11), 20, 30);
	assert_int_equal(row->markers.count, 2);
	fed_expect_text(f, &row->markers.items[0], RENAME_NAME, "other");
	assert_int_equal(row->markers.items[1].schema, MARKER_EXEC);
	assert_int_equal(row->markers.items[1].start, T0 + 30);
	fed_expect_text(f, &row->markers.items[1], EXEC_PROGRAM, "ls");
}

CASE(a_thread_that_executes_becomes_the_leader)
{
	struct fed *f = *state;
	const struct profile_thread *row;

	feed_fork(f, 10, 10, 10, 1, "sh");
	feed_fork(f, 20, 10, 11, 10, "sh");
	feed_sample(f, 21, 10, 10, SAMPLE_NO_STACK, 0x10, 0, 160);
	feed_exit(f, 30, 10, 10, 0);
	feed_name(f, 31, 10, 10, NAME_EXEC, "ls");
	feed_sample(f, 40, 10, 10, SAMPLE_NO_STACK, 0x10, 0, 1600);
	feed_end(f, 50);
	row = fed_thread(f, 10, 0, 10);
	expect_times(row, 10, 0);
	expect_times(fed_thread(f, 10, 0, 11), 20, 31);
	/* It began with none, which a row of its own says. What goes on was another thread's. */
	assert_int_equal(samples_count(&row->samples), 3);
	assert_int_equal(row->samples.open.items[0].weight, 0);
	assert_int_equal(row->samples.open.items[0].time, SESSION_START_NS + 10);
	assert_int_equal(row->samples.open.items[1].cpu_delta, 11);
	assert_int_equal(row->samples.open.items[2].cpu_delta, 0);
}

CASE(renames_are_markers)
{
	struct fed *f = *state;

	feed_fork(f, 10, 10, 10, 1, "app");
	feed_fork(f, 20, 10, 11, 10, "app");
	feed_name(f, 30, 10, 11, 0, "worker");
	feed_name(f, 31, 10, 11, 0, "worker");
	feed_name(f, 32, 10, 11, 0, "");
	feed_end(f, 40);
	fed_expect_name(f, fed_thread(f, 10, 0, 11)->name, "worker");
	fed_expect_name(f, fed_thread(f, 10, 0, 11)->process_name, "app");
	fed_expect_name(f, fed_thread(f, 10, 0, 10)->name, "app");
	assert_int_equal(fed_thread(f, 10, 0, 11)->markers.count, 1);
	assert_int_equal(fed_thread(f, 10, 0, 11)->markers.items[0].schema, MARKER_RENAME);
	assert_int_equal(fed_thread(f, 10, 0, 10)->markers.count, 0);
}

CASE(a_thread_is_called_as_it_was_while_it_ran)
{
	struct fed *f = *state;

	feed_fork(f, 10, 10, 10, 1, "app");
	feed_fork(f, 20, 10, 11, 10, "app");
	feed_name(f, 1000, 10, 11, 0, "task idle");
	for (uint64_t i = 1; i < 4; i++) {
		feed_name(f, i * 10000, 10, 11, 0, "task 7");
		feed_sample(f, i * 10000 + 5000, 10, 11, 0, 0x10, 0, i * 4000);
		feed_name(f, i * 10000 + 6000, 10, 11, 0, "task idle");
		feed_sample(f, i * 10000 + 9000, 10, 11, 0, 0x10, 0, i * 4000 + 160);
	}
	feed_end(f, 50000);
	fed_expect_name(f, fed_thread(f, 10, 0, 11)->name, "task 7");
	assert_int_equal(fed_thread(f, 10, 0, 11)->markers.count, 7);
}

CASE(the_main_threads_name_is_the_processes)
{
	struct fed *f = *state;

	feed_fork(f, 10, 10, 10, 1, "app");
	feed_name(f, 20, 10, 10, 0, "sixteen bytes ok");
	feed_end(f, 40);
	fed_expect_name(f, fed_thread(f, 10, 0, 10)->name, "sixteen bytes ok");
	fed_expect_name(f, fed_thread(f, 10, 0, 10)->process_name, "sixteen bytes ok");
}

CASE(a_program_keeps_its_name)
{
	struct fed *f = *state;

	feed_fork(f, 10, 10, 10, 1, "sh");
	feed_name(f, 20, 10, 10, NAME_EXEC, "node");
	feed_name(f, 30, 10, 10, 0, "MainThread");
	/* Forked processes begin with the name of the thread, then name themselves. */
	feed_fork(f, 31, 11, 11, 10, "MainThread");
	feed_fork(f, 32, 12, 12, 10, "MainThread");
	feed_name(f, 33, 12, 12, 0, "helper");
	/* Titles are those of the process. */
	feed_name(f, 40, 20, 20, NAME_SCAN, "tmux");
	feed_name(f, 41, 20, 20, 0, "tmux: server");
	feed_name(f, 42, 21, 21, NAME_SCAN, "python3");
	feed_name(f, 43, 21, 21, NAME_PROCESS, "my worker");
	feed_name(f, 43, 21, 21, 0, "my worker");
	/* It renamed itself before the recording. */
	feed_name(f, 44, 22, 22, NAME_SCAN, "MainThread");
	feed_name(f, 44, 22, 22, NAME_PROCESS, "node");
	feed_name(f, 45, 22, 22, NAME_PROCESS, "");
	feed_end(f, 50);
	fed_expect_name(f, fed_thread(f, 10, 0, 10)->name, "MainThread");
	fed_expect_name(f, fed_thread(f, 10, 0, 10)->process_name, "node");
	fed_expect_name(f, fed_thread(f, 11, 0, 11)->name, "MainThread");
	fed_expect_name(f, fed_thread(f, 11, 0, 11)->process_name, "node");
	fed_expect_name(f, fed_thread(f, 12, 0, 12)->process_name, "helper");
	fed_expect_name(f, fed_thread(f, 20, 0, 20)->process_name, "tmux: server");
	fed_expect_name(f, fed_thread(f, 21, 0, 21)->process_name, "my worker");
	fed_expect_name(f, fed_thread(f, 22, 0, 22)->name, "MainThread");
	fed_expect_name(f, fed_thread(f, 22, 0, 22)->process_name, "node");
}

CASE(every_process_has_one_main_thread)
{
	struct fed *f = *state;
	size_t mains = 0;

	feed_leaf(f, 10, 10, 11, 0x10);
	feed_exit(f, 20, 20, 21, 0);
	feed_fork(f, 30, 30, 30, 30, "odd"); /* a leader as its own thread: garbage */
	feed_fork(f, 30, 40, 41, 1, "odd"); /* a process whose leader has another tid: garbage */
	feed_map(f, 30, 50, 0x1000, 0x2000, 0, 0);
	feed_end(f, 40);
	vec_for_each(&f->p->threads.rows, const struct profile_thread *, row) {
		assert_int_equal(row->is_main, row->pid == row->tid);
		mains += row->is_main;
	}
	assert_int_equal(mains, 5);
	assert_int_equal(profile_process_count(f->p), 5);
	fed_expect_name(f, fed_thread(f, 10, 0, 11)->name, "[unknown]");
	fed_expect_name(f, fed_thread(f, 10, 0, 10)->process_name, "[unknown]");
}
