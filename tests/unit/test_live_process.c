/* SPDX-License-Identifier: MIT */
/* Lives of processes: the calls of listeners, and the states that they keep. */
#include "lib/live/process/live_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

/* State of two listeners: a number that children inherit, and memory of each process's own. */
struct number {
	uint32_t value, execs;
};

struct memory {
	char *text; /* owned */
};

static struct live_processes *processes;
static struct process_state numbers, memories;
static char seen[4096];
static unsigned int live_texts;

static struct number *number_of(struct live_process *process)
{
	return live_process_state(process, numbers);
}

static struct memory *memory_of(struct live_process *process)
{
	return live_process_state(process, memories);
}

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
{
	size_t size = strlen(seen);
	va_list args;

	va_start(args, format);
	vsnprintf(seen + size, sizeof(seen) - size, format, args);
	va_end(args);
}

/* Returns what was noted since the last call. */
static const char *notes(void)
{
	static char last[sizeof(seen)];

	strcpy(last, seen);
	seen[0] = '\0';
	return last;
}

static void tell_fork(void *ctx, struct live_process *child, struct live_process *parent)
{
	assert_int_equal(number_of(child)->value, 0);
	assert_int_equal(number_of(child)->execs, 0);
	if (parent)
		number_of(child)->value = number_of(parent)->value;
	note("%s:fork %u<%u ", (const char *)ctx, child->pid, parent ? parent->pid : 0);
}

static void tell_exec(void *ctx, struct live_process *process, uint64_t time)
{
	number_of(process)->execs++;
	note("%s:exec %u@%u ", (const char *)ctx, process->pid, (unsigned int)time);
}

static void tell_exit(void *ctx, struct live_process *process, uint64_t time)
{
	note("%s:exit %u@%u=%u ", (const char *)ctx, process->pid, (unsigned int)time,
	     number_of(process)->value);
}

static void read_memory(void *ctx, struct live_process *process, uint64_t time)
{
	if (memory_of(process)->text)
		note("%s:read %s ", (const char *)ctx, memory_of(process)->text);
}

static void inherit_memory(void *ctx, struct live_process *child, struct live_process *parent)
{
	assert_null(memory_of(child)->text);
	if (!parent || !memory_of(parent)->text)
		return;
	memory_of(child)->text = xstrdup(memory_of(parent)->text);
	live_texts++;
}

static void free_memory(void *ctx, struct live_process *process)
{
	if (!memory_of(process)->text)
		return;
	free(memory_of(process)->text);
	live_texts--;
}

static int setup(void **state)
{
	static const struct process_listener keeper = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct number),
		.fork = tell_fork,
		.exec = tell_exec,
		.exit = tell_exit,
	};
	static const struct process_listener reader = {
		.stage = LISTENER_READS,
		.state_size = sizeof(struct memory),
		.fork = inherit_memory,
		.exit = read_memory,
		.release = free_memory,
	};

	seen[0] = '\0';
	live_texts = 0;
	processes = live_processes_new();
	numbers = live_processes_listen(processes, &keeper, "k");
	memories = live_processes_listen(processes, &reader, "r");
	return 0;
}

static int teardown(void **state)
{
	live_processes_free(processes);
	assert_int_equal(live_texts, 0);
	return 0;
}

static struct live_process *add(uint32_t pid, uint64_t since, uint32_t value, const char *text)
{
	struct live_process *process = live_processes_add(processes, pid, since);

	number_of(process)->value = value;
	memory_of(process)->text = xstrdup(text);
	live_texts++;
	return process;
}

static struct live_process *find(uint32_t pid, uint64_t time)
{
	return live_processes_find(processes, pid, time);
}

static void rounds(unsigned int count, uint64_t now)
{
	while (count--)
		live_processes_next_round(processes, now);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(a_life)
{
	struct live_process *parent = add(7, 0, 70, "seven"), *child;

	live_processes_fork(processes, 8, 7, 10);
	assert_string_equal(notes(), "k:fork 8<7 ");
	child = find(8, 10);
	assert_int_equal(number_of(child)->value, 70);
	assert_string_equal(memory_of(child)->text, "seven");
	/* The child's state is separate. */
	number_of(child)->value = 80;
	live_processes_exec(processes, child, 20);
	assert_string_equal(notes(), "k:exec 8@20 ");
	assert_int_equal(number_of(child)->execs, 1);
	assert_int_equal(number_of(parent)->execs, 0);
	assert_int_equal(number_of(parent)->value, 70);
	live_processes_exit(processes, 8, 30);
	rounds(2, 40);
	assert_string_equal(notes(), "");
	rounds(1, 50);
	/*
	 * Listeners that read come before those that release, whatever the order of registration.
	 */
	assert_string_equal(notes(), "r:read seven k:exit 8@50=80 ");
	assert_null(find(8, 60));
	assert_non_null(find(7, 60));
	assert_int_equal(live_texts, 1);
}

CASE(events_from_before_an_exit_find_the_process)
{
	struct live_process *process = add(7, 0, 70, "seven");

	live_processes_exit(processes, 7, 30);
	rounds(2, 40);
	assert_ptr_equal(find(7, 25), process);
	/* Its fork is reported only now. */
	live_processes_fork(processes, 8, 7, 20);
	rounds(1, 50);
	assert_null(find(7, 25));
	assert_int_equal(number_of(find(8, 50))->value, 70);
}

CASE(an_exit_is_told_once)
{
	add(7, 0, 70, "seven");
	live_processes_exit(processes, 7, 30);
	rounds(1, 40);
	live_processes_exit(processes, 7, 30);
	live_processes_exit(processes, 9, 30);
	rounds(2, 50);
	assert_string_equal(notes(), "r:read seven k:exit 7@50=70 ");
	rounds(3, 60);
	assert_string_equal(notes(), "");
}

CASE(a_pid_that_is_used_again)
{
	add(1, 0, 10, "one");
	add(7, 5, 70, "seven");
	live_processes_exit(processes, 7, 30);
	live_processes_fork(processes, 7, 1, 40);
	assert_string_equal(notes(), "r:read seven k:exit 7@40=70 k:fork 7<1 ");
	assert_int_equal(number_of(find(7, 40))->value, 10);
	/* Events of the first process neither reach nor end the second. */
	assert_null(find(7, 39));
	live_processes_exit(processes, 7, 30);
	rounds(5, 50);
	assert_non_null(find(7, 50));
	assert_string_equal(notes(), "");
	/* Both in one round. */
	live_processes_exit(processes, 7, 60);
	live_processes_fork(processes, 7, 1, 70);
	live_processes_exit(processes, 7, 80);
	rounds(5, 90);
	assert_string_equal(notes(), "r:read one k:exit 7@70=10 k:fork 7<1 "
				     "r:read one k:exit 7@90=10 ");
	assert_null(find(7, 80));
}

CASE(an_exit_that_was_lost)
{
	add(1, 0, 10, "one");
	add(7, 0, 70, "seven");
	live_processes_fork(processes, 7, 1, 40);
	assert_string_equal(notes(), "r:read seven k:exit 7@40=70 k:fork 7<1 ");
	/* Its own child gets the pid of a process that exited long ago. */
	live_processes_fork(processes, 1, 7, 50);
	assert_string_equal(notes(), "r:read one k:exit 1@50=10 k:fork 1<7 ");
	assert_int_equal(number_of(find(1, 50))->value, 10);
}

CASE(a_child_of_someone_unknown)
{
	live_processes_fork(processes, 8, 7, 40);
	assert_string_equal(notes(), "k:fork 8<0 ");
	assert_non_null(find(8, 40));
	/* Records that make no sense. */
	live_processes_fork(processes, 0, 8, 50);
	live_processes_fork(processes, 8, 8, 50);
	live_processes_fork(processes, 9, 9, 50);
	assert_string_equal(notes(), "k:fork 9<0 ");
}

/* A fork is reported after /proc was read for the child, or for the parent alone. */
CASE(forks_while_proc_is_read)
{
	add(7, 100, 70, "seven");
	add(8, 110, 80, "eight");
	live_processes_fork(processes, 8, 7, 90);
	assert_string_equal(notes(), "");
	assert_int_equal(number_of(find(8, 110))->value, 80);
	assert_null(find(8, 109));
	live_processes_fork(processes, 9, 7, 90);
	assert_int_equal(number_of(find(9, 90))->value, 70);
	/* The child's exit is reported before its start. */
	live_processes_exit(processes, 9, 95);
	rounds(3, 200);
	assert_string_equal(notes(), "k:fork 9<7 r:read seven k:exit 9@200=70 ");
	assert_null(find(9, 95));
}

CASE(one_that_is_there_already_stays)
{
	struct live_process *process = add(7, 0, 70, "seven");

	assert_ptr_equal(live_processes_add(processes, 7, 50), process);
	assert_ptr_equal(find(7, 10), process);
	assert_int_equal(number_of(process)->value, 70);
	/* Except for a process that has exited. */
	live_processes_exit(processes, 7, 60);
	live_processes_add(processes, 7, 70);
	assert_string_equal(notes(), "r:read seven k:exit 7@70=70 ");
	rounds(5, 80);
	assert_null(find(7, 60));
	assert_int_equal(number_of(find(7, 70))->value, 0);
}

/* The child uses its parent's memory until its exec, which affects only the child. */
CASE(a_vfork)
{
	add(7, 0, 70, "seven");
	live_processes_fork(processes, 8, 7, 10);
	live_processes_exec(processes, find(8, 11), 11);
	assert_string_equal(notes(), "k:fork 8<7 k:exec 8@11 ");
	assert_int_equal(number_of(find(7, 11))->execs, 0);
	assert_string_equal(memory_of(find(7, 11))->text, "seven");
	live_processes_exit(processes, 8, 12);
	rounds(3, 20);
	assert_int_equal(number_of(find(7, 20))->value, 70);
}

CASE(rows_stay_where_they_are_and_are_used_again)
{
	struct live_process *first = add(1, 0, 10, "one"), *process;
	uint32_t count = 0, rows = 0;

	for (uint32_t pid = 2; pid <= 20000; pid++) {
		live_processes_fork(processes, pid, 1, pid);
		live_processes_exit(processes, pid, pid);
		if (pid % 10 == 0)
			rounds(1, pid);
		seen[0] = '\0';
	}
	assert_ptr_equal(find(1, 0), first);
	assert_int_equal(number_of(first)->value, 10);
	rounds(3, 20001);
	while ((process = live_processes_next(processes, &rows)))
		count += process->pid;
	assert_int_equal(count, 1);
	/* Rows do not grow with the number of processes that ever ran. */
	assert_in_range(rows, 1, 128);
	assert_int_equal(live_texts, 1);
}
