/* SPDX-License-Identifier: MIT */
/* Forks, execs, mappings and exits in the rings of several CPUs; what is lost of them. */

#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/tasks.h"
#include "tests/unit/test.h"

#define PID FIRST_PID
#define CHILD (FIRST_PID + 1)
#define THREAD (FIRST_PID + 2)
#define OTHER (FIRST_PID + 3)

static int prepare(void **state)
{
	recording_prepare("0-2");
	task_start(OTHER, "other");
	return 0;
}

static int setup(void **state)
{
	prepare(state);
	recording_begin_app();
	return 0;
}

static void expect(const char *text)
{
	recording_rounds(&recording, 2);
	assert_string_equal(recording_text(&recording), text);
	assert_int_equal(recording.late, 0);
}

TEST_WITH(nothing_is_recorded_before_the_exec, prepare, recording_teardown)
{
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	recording_rounds(&recording, 2);
	assert_string_equal(recording_text(&recording), "found+0:sh");
	assert_int_equal(task_tick(0, PID, PID, 1, NULL, 0), TICK_OTHER);
	task_rename(0, PID, PID, "mine");
	expect("");
	task_exec(1, PID, "app", 0x10000, "/bin/app");
	assert_int_equal(task_tick(0, PID, PID, 0x10001, NULL, 0), TICK_SENT);
	expect("space+0 map+0:10000 exec+0:app sample+0:10001");
}

#define CASE(name) TEST_WITH(name, setup, recording_teardown)

CASE(a_child_forks_and_executes)
{
	task_fork(2, PID, CHILD);
	task_tick(1, CHILD, CHILD, 0x10001, NULL, 0);
	task_begin_exec(0, CHILD);
	task_tick(2, CHILD, CHILD, 0x10002, NULL, 0);
	task_map(1, CHILD, 0x20000, 0x1000, "/bin/child");
	task_map(0, CHILD, 0x30000, 0x1000, "/lib/ld.so");
	task_tick(2, CHILD, CHILD, 0x30001, NULL, 0);
	task_end_exec(1, CHILD, "child");
	task_tick(0, CHILD, CHILD, 0x20001, NULL, 0);
	task_exit(1, CHILD, CHILD);
	expect("fork+1 sample+1:10001 space+1 sample+1:10002 map+1:20000 map+1:30000 "
	       "sample+1:30001 exec+1:child sample+1:20001 exit+1");
}

/* Mappings are those of the process that has the number at the time. */
CASE(a_pid_is_used_again)
{
	task_fork(2, PID, CHILD);
	task_exec(2, CHILD, "first", 0x20000, "/bin/first");
	task_exit(2, CHILD, CHILD);
	task_fork(0, PID, CHILD);
	task_exec(1, CHILD, "second", 0x30000, "/bin/second");
	task_tick(0, CHILD, CHILD, 0x30001, NULL, 0);
	expect("fork+1 space+1 map+1:20000 exec+1:first exit+1 "
	       "fork+1 space+1 map+1:30000 exec+1:second sample+1:30001");
}

/* A number that somebody has whom nobody records. */
CASE(a_stranger_takes_the_number)
{
	task_fork(2, PID, CHILD);
	task_exit(1, CHILD, CHILD);
	expect("fork+1 exit+1");
	recording_rounds(&recording, 3);
	task_fork(0, OTHER, CHILD);
	task_exec(1, CHILD, "stranger", 0x30000, "/bin/stranger");
	assert_int_equal(task_tick(0, CHILD, CHILD, 0x30001, NULL, 0), TICK_OTHER);
	expect("");
}

CASE(threads_live_in_their_process)
{
	task_clone(1, PID, THREAD);
	task_rename(2, PID, THREAD, "worker");
	task_tick(0, PID, THREAD, 0x10001, NULL, 0);
	task_map(1, PID, 0x20000, 0x1000, "/lib/x.so");
	task_exit(2, PID, THREAD);
	expect("fork+0/2 name+0/2:worker sample+0/2:10001 map+0:20000 exit+0/2");
	/* The others end when one executes a program, which then has the process's number. */
	task_clone(1, PID, THREAD);
	task_begin_exec(2, PID);
	task_end_exec(2, PID, "again");
	assert_int_equal(task_tick(0, PID, THREAD, 0x10001, NULL, 0), TICK_OTHER);
	expect("fork+0/2 space+0 exec+0:again");
}

CASE(others_map_what_they_like)
{
	task_map(0, OTHER, 0x20000, 0x1000, "/lib/x.so");
	task_exec(1, OTHER, "elsewhere", 0x20000, "/bin/elsewhere");
	task_tick(0, OTHER, OTHER, 0x20001, NULL, 0);
	expect("");
	assert_int_equal(machine_counters(0)->other_ticks, 1);
}

CASE(lost_mappings_are_counted)
{
	unsigned int written = 0;

	while (task_map(1, OTHER, 0x20000, 0x1000, "/lib/x.so"))
		written++;
	assert_in_range(written, 3000, 4000);
	/* The ring is full: the second is lost, too. */
	assert_false(task_map(1, PID, 0x20000, 0x1000, "/lib/x.so"));
	recording_round(&recording);
	assert_true(task_map(1, PID, 0x30000, 0x1000, "/lib/x.so"));
	expect("lost:mapping=2 map+0:30000");
}

/* The ring tells of what it lost only before the next record that finds room. */
CASE(mappings_that_are_lost_last_are_counted)
{
	while (task_map(1, OTHER, 0x20000, 0x1000, "/lib/x.so"))
		;
	recording_round(&recording);
	map_ring_lose(0, 2);
	assert_false(task_map(0, PID, 0x30000, 0x1000, "/lib/x.so"));
	assert_false(task_map(0, PID, 0x40000, 0x1000, "/lib/x.so"));
	recording_end(&recording);
	assert_string_equal(recording_text(&recording), "lost:mapping=2 lost:mapping=1");
}

CASE(a_mapping_ring_goes_round)
{
	for (unsigned int i = 0; i < 10; i++) {
		for (unsigned int k = 0; k < 2000; k++)
			assert_true(task_map(1, OTHER, 0x20000, 0x1000, "/lib/x.so"));
		assert_true(task_map(1, PID, 0x20000, 0x1000, "/lib/x.so"));
		expect("map+0:20000");
	}
}

CASE(what_the_kernel_makes_is_told)
{
	machine_make_code(1, 0xffffffffc0001000, 64, "bpf_prog_1234_x");
	task_tick(0, PID, PID, 0xffffffffc0001010, NULL, 0);
	expect("sample+0:ffffffffc0001010");
}

/* Running already: their threads and mappings come from /proc, events after that from the rings. */
TEST_WITH(processes_that_run_already, prepare, recording_teardown)
{
	machine_write_file("/proc/1073741824/maps", "10000-20000 r-xp 00000000 08:00 1 /bin/app\n"
						    "20000-30000 rw-p 00000000 00:00 0 \n"
						    "30000-31000 r-xp 00000000 00:00 0 \n");
	task_clone(0, PID, THREAD);
	assert_int_equal(recording_begin(&recording, PID, false), 0);
	expect("found+0:sh found+0/2:sh map+0:10000 map+0:30000");
	assert_int_equal(task_tick(0, PID, THREAD, 0x10001, NULL, 0), TICK_SENT);
	task_map(0, PID, 0x40000, 0x1000, "/lib/x.so");
	expect("sample+0/2:10001 map+0:40000");
}

/* The end of a process is no failure. */
TEST_WITH(a_process_ends_before_it_is_looked_at, prepare, recording_teardown)
{
	machine_remove_file("/proc/1073741824");
	assert_int_equal(recording_begin(&recording, PID, false), 0);
	expect("found+0:sh");
}

/* Programs that call their first thread by a name of its own. */
TEST_WITH(processes_are_called_by_their_programs, prepare, recording_teardown)
{
	task_start(CHILD, "MainThread");
	machine_link_file("/proc/1073741825/exe", "/usr/bin/a-program-of-a-long-name (deleted)");
	machine_write_bytes("/proc/1073741825/cmdline", "node\0a.js", 10);
	machine_write_file("/proc/1073741825/stat", "1073741825 (a) b) S 1 1 1 0 -1 4194560 0\n");
	assert_int_equal(recording_begin(&recording, CHILD, false), 0);
	expect("found+1:MainThread called+1:a-program-of-a-");
	task_rename(0, CHILD, CHILD, "Thread");
	expect("name+1:Thread");
	/* A title, which is in /proc when the rename is read. */
	machine_write_bytes("/proc/1073741825/cmdline", "title of all", 13);
	task_rename(0, CHILD, CHILD, "title of al");
	expect("called+1:title of al name+1:title of al");
	/* Without an exec since its fork, it has no other name. */
	machine_write_file("/proc/1073741825/stat", "1073741825 (b) S 1 1 1 0 -1 4194624 0\n");
	task_rename(0, CHILD, CHILD, "worker");
	expect("called+1:worker name+1:worker");
	machine_remove_file("/proc/1073741825/exe");
	task_rename(0, CHILD, CHILD, "other");
	expect("name+1:other");
}

TEST_WITH(few_renames_are_looked_up, prepare, recording_teardown)
{
	unsigned int called = 0;

	machine_link_file("/proc/1073741824/exe", "/bin/sh");
	machine_write_file("/proc/1073741824/stat", "1073741824 (b) S 1 1 1 0 -1 64 0\n");
	assert_int_equal(recording_begin(&recording, PID, false), 0);
	recording_rounds(&recording, 2);
	recording_text(&recording);
	for (unsigned int i = 0; i < 100; i++)
		task_rename(0, PID, PID, i % 2 ? "a" : "b");
	recording_rounds(&recording, 2);
	for (const char *at = recording_text(&recording); (at = strstr(at, "called")); at++)
		called++;
	assert_int_equal(called, 64);
}
