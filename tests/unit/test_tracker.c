/* SPDX-License-Identifier: MIT */
/* Events of several rings, in the order of reading, and the lives that they describe. */
#include "lib/live/tracker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

/* A pid that no kernel gives: /proc has nothing about it. */
#define PID 0x40000007u
#define CHILD (PID + 1)
#define THREAD (PID + 2)

static struct tracker *tracker;
static struct file_set *files;
static char seen[4096]; /* "what+pid@time " of each */

static void note(const char *what, uint32_t pid, uint64_t time)
{
	size_t size = strlen(seen);

	snprintf(seen + size, sizeof(seen) - size, "%s+%u@%llu ", what, pid - PID,
		 (unsigned long long)time);
}

static void sink(void *ctx, const struct rec *rec)
{
	if (rec->kind == REC_MAP && !(rec->flags & MAP_KERNEL_SPACE))
		note("map", rec->pid, rec->time);
	else if (rec->kind == REC_NAME && rec->flags & NAME_NEW_SPACE)
		note("space", rec->pid, rec->time);
}

static void tell_fork(void *ctx, struct live_process *child, struct live_process *parent)
{
	note(parent ? "fork" : "orphan", child->pid, child->since);
}

static void tell_exec(void *ctx, struct live_process *process, uint64_t time)
{
	note("exec", process->pid, time);
}

static void tell_exit(void *ctx, struct live_process *process, uint64_t time)
{
	note("exit", process->pid, time);
}

static int setup(void **state)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.fork = tell_fork,
		.exec = tell_exec,
		.exit = tell_exit,
	};
	struct tracker_options options = {.sink = sink};

	seen[0] = '\0';
	options.files = files = file_set_new(16);
	if (tracker_new(&tracker, &options, NULL))
		return -1;
	live_processes_listen(tracker_processes(tracker), &listener, NULL);
	live_processes_add(tracker_processes(tracker), PID, 0);
	return 0;
}

static int teardown(void **state)
{
	tracker_free(tracker);
	file_set_free(files);
	return 0;
}

/* Feeds records of the kernel's programs. */
static void fork_process(uint32_t pid, uint32_t parent_pid, uint64_t time)
{
	struct rec_fork fork = {.parent_pid = parent_pid, .parent_tid = parent_pid};

	record_init(&fork.rec, REC_FORK, sizeof(fork), time, pid, pid);
	tracker_record(tracker, &fork.rec);
}

static void exit_thread(uint32_t pid, uint32_t tid, uint64_t time, uint8_t flags)
{
	struct rec_exit exit = {0};

	record_init(&exit.rec, REC_EXIT, sizeof(exit), time, pid, tid);
	exit.rec.flags = flags;
	tracker_record(tracker, &exit.rec);
}

static void exit_process(uint32_t pid, uint64_t time)
{
	exit_thread(pid, pid, time, EXIT_PROCESS);
}

/* Feeds events of mapping rings. */
static void tell(enum map_event_kind kind, uint32_t pid, uint64_t time)
{
	const struct map_event event = {
		.kind = kind,
		.time = time,
		.pid = pid,
		.tid = pid,
		.start = 0x10000,
		.size = 0x1000,
		.path = "//anon",
	};

	tracker_map_event(tracker, &event);
}

/* Ends a round that began at the time `now`; returns what was noted. */
static const char *finish_round(uint64_t now)
{
	static char last[sizeof(seen)];

	tracker_handle(tracker, now);
	tracker_begin_round(tracker, now, false);
	strcpy(last, seen);
	seen[0] = '\0';
	return last;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(rings_are_read_in_any_order)
{
	exit_process(CHILD, 50);
	tell(MAP_EVENT_MAP, CHILD, 40);
	tell(MAP_EVENT_NEW_SPACE, CHILD, 30);
	tell(MAP_EVENT_MAP, PID, 10);
	fork_process(CHILD, PID, 20);
	assert_string_equal(finish_round(100), "map+0@10 fork+1@20 exec+1@30 space+1@30 map+1@40 ");
	finish_round(200);
	assert_string_equal(finish_round(300), "exit+1@300 ");
	/* The process is gone. */
	tell(MAP_EVENT_MAP, CHILD, 310);
	assert_string_equal(finish_round(400), "");
}

CASE(what_is_too_young_waits)
{
	fork_process(CHILD, PID, 150);
	assert_true(tracker_handle(tracker, 100));
	tell(MAP_EVENT_MAP, CHILD, 160);
	assert_string_equal(finish_round(200), "fork+1@150 map+1@160 ");
	/* An exit may wait, but is not forgotten. */
	exit_process(CHILD, 250);
	assert_false(tracker_handle(tracker, 210));
	finish_round(300);
	finish_round(400);
	assert_string_equal(finish_round(500), "exit+1@500 ");
}

/* A grandchild's record may be read before the child's, or the child's is lost. */
CASE(a_child_is_read_of_before_its_parent)
{
	fork_process(CHILD + 1, CHILD, 30);
	tell(MAP_EVENT_MAP, CHILD + 1, 40);
	fork_process(CHILD, PID, 20);
	assert_string_equal(finish_round(100), "fork+1@20 fork+2@30 map+2@40 ");
	fork_process(CHILD + 3, CHILD + 2, 110);
	tell(MAP_EVENT_MAP, CHILD + 3, 120);
	assert_string_equal(finish_round(200), "orphan+4@110 map+4@120 ");
}

CASE(a_pid_is_used_again_within_a_round)
{
	fork_process(CHILD, PID, 10);
	finish_round(20);
	/* The ring with the new process's fork is read first. */
	fork_process(CHILD, PID, 40);
	exit_process(CHILD, 30);
	tell(MAP_EVENT_MAP, CHILD, 50);
	tell(MAP_EVENT_MAP, CHILD, 25);
	assert_string_equal(finish_round(100), "map+1@25 exit+1@40 fork+1@40 map+1@50 ");
	for (uint64_t now = 200; now < 1000; now += 100)
		assert_string_equal(finish_round(now), "");
	tell(MAP_EVENT_MAP, CHILD, 1000);
	assert_string_equal(finish_round(1100), "map+1@1000 ");
}

/* The kernel ends the other threads, even the leader, and gives the leader's tid to the caller. */
CASE(a_thread_executes_a_program)
{
	exit_thread(PID, PID, 10, 0);
	tell(MAP_EVENT_NEW_SPACE, PID, 20);
	exit_thread(PID, THREAD, 15, 0);
	tell(MAP_EVENT_MAP, PID, 30);
	assert_string_equal(finish_round(100), "exec+0@20 space+0@20 map+0@30 ");
	for (uint64_t now = 200; now < 600; now += 100)
		assert_string_equal(finish_round(now), "");
}

CASE(threads_are_no_processes)
{
	struct rec_fork fork = {.parent_pid = PID, .parent_tid = PID};

	record_init(&fork.rec, REC_FORK, sizeof(fork), 10, PID, THREAD);
	tracker_record(tracker, &fork.rec);
	assert_string_equal(finish_round(100), "");
}

/* The child shares its parent's memory until its exec, and reports nothing before. */
CASE(a_vfork)
{
	fork_process(CHILD, PID, 10);
	tell(MAP_EVENT_NEW_SPACE, CHILD, 20);
	tell(MAP_EVENT_MAP, CHILD, 30);
	tell(MAP_EVENT_MAP, PID, 40);
	assert_string_equal(finish_round(100), "fork+1@10 exec+1@20 space+1@20 map+1@30 map+0@40 ");
}

CASE(nobody_asks_for_those_that_are_not_followed)
{
	tell(MAP_EVENT_MAP, THREAD, 10);
	tell(MAP_EVENT_NEW_SPACE, THREAD, 20);
	exit_process(THREAD, 30);
	for (uint64_t now = 100; now < 500; now += 100)
		assert_string_equal(finish_round(now), "");
}

CASE(at_the_end_all_is_handled)
{
	fork_process(CHILD, PID, 10);
	tell(MAP_EVENT_MAP, CHILD, 20);
	exit_process(CHILD, 30);
	tracker_finish(tracker, 5);
	assert_string_equal(seen, "fork+1@10 map+1@20 ");
}
