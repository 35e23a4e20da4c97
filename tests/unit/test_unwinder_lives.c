/* SPDX-License-Identifier: MIT */
/* Descriptions of processes that fork, execute programs and end, as the walker gets them. */
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/unit/unwinder_fixture.h"
#include "tests/unit/test.h"

WITH_UNWINDER(a_child_has_what_its_parent_had)
{
	struct unwinder_fixture *f = *state;

	add_code_module(f, 0, false);
	map_code(f, PID, CODE, 0);
	exec_process(f, PID);
	map_code(f, PID, CODE, 0);
	map_code(f, PID, CODE + 2 * CODE_SIZE, 0);
	live_processes_fork(f->processes, PID + 1, PID, f->now);
	map_code(f, PID, CODE + 4 * CODE_SIZE, 0);
	flush_unwinder(f, 1);
	assert_int_equal(told_space(f, PID)->count, 3);
	assert_int_equal(told_space(f, PID)->execs, 1);
	assert_int_equal(told_space(f, PID + 1)->count, 2);
	assert_int_equal(told_space(f, PID + 1)->execs, 0);
	/* The child's state is separate. */
	exec_process(f, PID + 1);
	flush_unwinder(f, 1);
	assert_int_equal(told_space(f, PID + 1)->count, 0);
	assert_int_equal(told_space(f, PID + 1)->execs, 1);
	assert_int_equal(told_space(f, PID)->count, 3);
}

WITH_UNWINDER(an_exec_replaces_everything)
{
	struct unwinder_fixture *f = *state;

	add_code_module(f, 0, false);
	map_code(f, PID, CODE, 0);
	flush_unwinder(f, 1);
	exec_process(f, PID);
	exec_process(f, PID);
	map_code(f, PID, CODE + 2 * CODE_SIZE, 0);
	flush_unwinder(f, 1);
	assert_int_equal(told_space(f, PID)->execs, 2);
	assert_int_equal(told_space(f, PID)->count, 1);
}

WITH_UNWINDER(after_the_end_nothing_is_left)
{
	struct unwinder_fixture *f = *state;

	add_code_module(f, 0, false);
	map_code(f, PID, CODE, 0);
	flush_unwinder(f, 1);
	end_process(f, PID);
	assert_false(f->told[0].is_there);
	end_process(f, PID);
	flush_unwinder(f, 2);
	assert_false(f->told[0].is_there);
	/* In one round: a process ends before it was described, and the pid is used again. */
	exec_process(f, PID + 1);
	map_code(f, PID + 1, CODE, 0);
	end_process(f, PID + 1);
	map_code(f, PID + 1, CODE + 2 * CODE_SIZE, 0);
	flush_unwinder(f, 1);
	assert_int_equal(told_space(f, PID + 1)->execs, 0);
	assert_int_equal(told_space(f, PID + 1)->count, 1);
}

/* Nothing is sent about it afterwards; descriptions of others are. */
WITH_UNWINDER(one_ends_before_it_was_told_of)
{
	struct unwinder_fixture *f = *state;

	add_code_module(f, 0, false);
	map_code(f, PID, CODE, 0);
	map_code(f, PID + 1, CODE, 0);
	map_code(f, PID + 2, CODE, 0);
	end_process(f, PID);
	flush_unwinder(f, 1);
	assert_false(f->told[0].is_there);
	assert_int_equal(f->told[0].times, 1);
	assert_int_equal(told_space(f, PID + 1)->count, 1);
	assert_int_equal(told_space(f, PID + 2)->count, 1);
	assert_int_equal(f->told[1].times + f->told[2].times, 2);
	assert_true(unwinder_is_settled(f->u));
}

/*
 * The exit of the first process was lost, or is not certain yet, and the walker had its
 * description.
 */
WITH_UNWINDER(a_pid_that_is_used_again)
{
	struct unwinder_fixture *f = *state;

	add_code_module(f, 0, false);
	map_code(f, PID, CODE, 0);
	map_code(f, PID + 1, CODE, 0);
	map_code(f, PID + 1, CODE + 2 * CODE_SIZE, 0);
	exec_process(f, PID + 1);
	map_code(f, PID + 1, CODE, 0);
	live_processes_fork(f->processes, PID + 1, PID, f->now + 1);
	map_code(f, PID + 1, CODE + 4 * CODE_SIZE, 0);
	flush_unwinder(f, 1);
	assert_int_equal(told_space(f, PID + 1)->execs, 0);
	assert_int_equal(told_space(f, PID + 1)->count, 2);
	assert_int_equal(told_space(f, PID)->count, 1);
}

/* The stack still waits for a table when another process has the pid. */
WITH_UNWINDER(a_copy_outlives_its_process)
{
	struct unwinder_fixture *f = *state;
	struct rec_copy *copy = xcalloc(1, sizeof(*copy) + 64);

	record_init(&copy->rec, REC_COPY, sizeof(*copy) + 64, f->now, PID, PID);
	copy->stack_id = 3;
	copy->stack_size = 64;
	copy->pc = CODE + CODE_SIZE - 16;
	add_code_module(f, 0, true);
	map_code(f, PID, CODE, 0);
	unwinder_copy(f->u, process_of(f, PID), copy, f->now);
	end_process(f, PID);
	live_processes_fork(f->processes, PID, PID + 1, f->now);
	flush_unwinder(f, 1);
	assert_int_equal(f->sent.count, 1);
	/* As in a_copy_is_finished_when_its_table_is_there(): by the first process's mappings. */
	assert_int_equal(f->sent.items[0]->rec.flags, STACK_LATER | STACK_BROKEN);
	assert_int_equal(told_space(f, PID)->count, 0);
	free(copy);
}
