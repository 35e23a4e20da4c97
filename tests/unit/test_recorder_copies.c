/* SPDX-License-Identifier: MIT */
/* Stacks that were copied because their tables were not there yet, and come late. */
#include <string.h>

#include "lib/stream/record/records.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/tasks.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/test.h"

#define PID FIRST_PID
#define CHILD (FIRST_PID + 1)

static int setup(void **state)
{
	recording_prepare("0-1");
	recording.options.unwind = RECORDER_UNWIND_AUTO;
	recording_begin_app();
	return 0;
}

#define CASE(name) TEST_WITH(name, setup, recording_teardown)

/* It comes after its sample, which waits for it. */
CASE(a_copy_becomes_a_stack)
{
	assert_int_equal(task_tick_copied(1, PID, PID, 0x10001), TICK_SENT);
	recording_rounds(&recording, 6);
	assert_string_equal(recording_text(&recording), "sample+0:10001 later+0");
}

CASE(a_copy_waits_behind_an_unfinished_record)
{
	struct ring_place place;

	assert_int_equal(task_tick_slowly(1, PID, PID, 1, &place), TICK_SENT);
	assert_int_equal(task_tick_copied(1, PID, PID, 0x10001), TICK_SENT);
	assert_int_equal(task_tick(0, PID, PID, 2, NULL, 0), TICK_SENT);
	recording_rounds(&recording, 4);
	assert_string_equal(recording_text(&recording), "");
	ring_finish(&place);
	recording_rounds(&recording, 6);
	assert_string_equal(recording_text(&recording),
			    "sample+0:1 sample+0:10001 sample+0:2 later+0");
	assert_int_equal(recording.late, 0);
}

/* The process has ended by then, and another one has its number. */
CASE(a_copy_of_one_that_is_gone)
{
	task_fork(0, PID, CHILD);
	assert_int_equal(task_tick_copied(1, CHILD, CHILD, 0x10001), TICK_SENT);
	task_exit(0, CHILD, CHILD);
	task_fork(1, PID, CHILD);
	task_exec(1, CHILD, "other", 0x20000, "/bin/other");
	assert_int_equal(task_tick_copied(0, CHILD, CHILD, 0x20001), TICK_SENT);
	recording_rounds(&recording, 6);
	assert_string_equal(recording_text(&recording),
			    "fork+1 sample+1:10001 exit+1 fork+1 space+1 map+1:20000 "
			    "exec+1:other sample+1:20001 later+1 later+1");
}

static unsigned int count_words(const char *word)
{
	const char *at = strbuf_text(&recording.text);
	unsigned int count = 0;

	for (; (at = strstr(at, word)); at++)
		count++;
	return count;
}

CASE(in_the_end_none_is_missing)
{
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(task_tick_copied(i % 2, PID, PID, 0x10001), TICK_SENT);
	recording_end(&recording);
	assert_int_equal(count_words("sample+0:10001"), 20);
	assert_int_equal(count_words("later+0"), 20);
}
