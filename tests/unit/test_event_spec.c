/* SPDX-License-Identifier: MIT */
/* The argument of -e, and how occurrences are thinned out. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "lib/live/instruments/events.h"
#include "lib/live/perf/event_spec.h"
#include "lib/live/machine/tracefs.h"
#include "tests/unit/test.h"

static struct event_list parsed(const char *text)
{
	struct event_list list = {0};
	struct error err = {0};

	if (event_list_add(&list, text, &err))
		fail_msg("%s: %s", text, err.text);
	return list;
}

TEST(the_first_clock_is_the_clock)
{
	struct event_list list = parsed("page-faults,task-clock,cycles");

	assert_true(list.has_clock);
	assert_string_equal(list.rows[0].name, "task-clock");
	assert_int_equal(list.count, 3);
	assert_string_equal(list.rows[1].name, "page-faults");
	assert_int_equal(list.rows[1].kind, EVENT_SOFTWARE);
	assert_string_equal(list.rows[2].name, "cycles");
	list = parsed("page-faults");
	assert_false(list.has_clock);
	assert_int_equal(list.count, 2);
}

TEST(lists_go_on)
{
	struct event_list list = parsed("page-faults");
	struct error err = {0};

	assert_int_equal(event_list_add(&list, "cache-misses/freq=99,cpu-clock", &err), 0);
	assert_int_equal(list.count, 3);
	assert_true(list.has_clock);
	assert_int_equal(list.rows[2].type, PERF_TYPE_HARDWARE);
	assert_int_equal(list.rows[2].config, PERF_COUNT_HW_CACHE_MISSES);
	assert_true(list.rows[2].rate_hz > 98.9 && list.rows[2].rate_hz < 99.1);
	assert_int_not_equal(event_list_add(&list, "cpu-clock", &err), 0);
}

TEST(tracepoints_have_two_spellings)
{
	struct event_list list = parsed("sched:sched_switch/period=7/,tracepoint:x:y,tracepoint:z");

	assert_string_equal(list.rows[1].name, "sched:sched_switch");
	assert_int_equal(list.rows[1].kind, EVENT_TRACEPOINT);
	assert_int_equal(list.rows[1].period, 7);
	assert_string_equal(list.rows[2].name, "x:y");
	assert_string_equal(list.rows[3].name, "z");
}

TEST(what_is_wrong_is_refused)
{
	static const char *const wrong[] = {
		"",
		",",
		"page-faults,",
		"nonsense",
		"page-faults,page-faults",
		"cpu-clock,cpu-clock",
		"page-faults/period=0",
		"page-faults/period=4294967296",
		"page-faults/period=-1",
		"page-faults/freq=0.5",
		"page-faults/freq=nan",
		"page-faults/",
		"page-faults/c=1",
		"cpu-clock/period=1",
		"a:b:c",
		"a:",
		":b",
		"../etc:passwd",
		"tracepoint:",
		"tracepoint:*",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct event_list list = {0};
		struct error err = {0};

		if (!event_list_add(&list, wrong[i], &err))
			fail_msg("'%s' was taken", wrong[i]);
		assert_non_null(strstr(err.text, "--event"));
	}
}

TEST(there_is_room_for_so_many)
{
	struct event_list list = {0};
	struct error err = {0};
	char name[32];

	for (int i = 1; i < EVENTS_MAX; i++) {
		snprintf(name, sizeof(name), "a:event%d", i);
		assert_int_equal(event_list_add(&list, name, &err), 0);
	}
	assert_int_not_equal(event_list_add(&list, "a:b", &err), 0);
	assert_int_equal(event_list_add(&list, "cpu-clock", &err), 0);
}

TEST(names_longer_than_their_room_are_refused)
{
	struct event_list list = {0};
	struct error err = {0};
	char name[EVENT_NAME_MAX + 8] = "a:";

	memset(name + 2, 'x', EVENT_NAME_MAX - 2);
	assert_int_not_equal(event_list_add(&list, name, &err), 0);
	name[EVENT_NAME_MAX - 1] = '\0';
	assert_int_equal(event_list_add(&list, name, &err), 0);
}

TEST(limits_follow_the_settings)
{
	struct event_list list = parsed("page-faults,minor-faults/period=5,major-faults/freq=20,"
					"instructions");
	struct event_limit limits[EVENTS_MAX];

	events_set_limits(&list, limits);
	assert_int_equal(limits[1].quota, 100);
	assert_int_equal(limits[1].window_ns, 10000000);
	assert_int_equal(limits[2].window_ns, 0);
	assert_int_equal(limits[2].period, 5);
	/* A window takes at least a few samples: it becomes longer instead. */
	assert_int_equal(limits[3].quota, 10);
	assert_int_equal(limits[3].window_ns, 500000000);
	assert_true(limits[4].is_measured);
	assert_false(limits[1].is_measured);
}

TEST(names_of_tracepoints)
{
	assert_true(tracefs_is_name("sched_switch"));
	assert_true(tracefs_is_name("sched:sched_switch"));
	assert_false(tracefs_is_name("a/b"));
	assert_false(tracefs_is_name(".."));
	assert_false(tracefs_is_name("a*"));
	assert_false(tracefs_is_name(""));
}
