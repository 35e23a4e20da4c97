/* SPDX-License-Identifier: MIT */
/* CPUs that come and go, and those that are left out. */
#include <errno.h>
#include <stdio.h>

#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/tasks.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/test.h"

#define PID FIRST_PID
#define CHILD (FIRST_PID + 1)
/* CPUs are looked at once a second. */
#define SECOND_NS 1000000000ull

static int prepare(void **state)
{
	recording_prepare("0-3");
	machine_set_online("0-1");
	return 0;
}

static int setup(void **state)
{
	prepare(state);
	recording_begin_app();
	return 0;
}

static void set_online(const char *cpus)
{
	machine_set_online(cpus);
	fake_clock_pass(SECOND_NS);
	recording_rounds(&recording, 2);
}

static void expect(const char *text)
{
	recording_rounds(&recording, 2);
	assert_string_equal(recording_text(&recording), text);
}

static enum tick_fate tick(uint32_t cpu, uint64_t leaf)
{
	return task_tick(cpu, PID, PID, leaf, NULL, 0);
}

#define CASE(name) TEST_WITH(name, setup, recording_teardown)

CASE(a_cpu_comes)
{
	assert_int_equal(tick(2, 1), TICK_NO_RING);
	set_online("0-2");
	expect("cpu2:on lost:no-ring=1");
	assert_true(machine_samples(2));
	assert_int_equal(tick(2, 2), TICK_SENT);
	task_map(2, PID, 0x20000, 0x1000, "/lib/x.so");
	expect("sample+0:2 map+0:20000");
}

CASE(a_cpu_goes_and_comes_back)
{
	assert_int_equal(tick(1, 1), TICK_SENT);
	task_map(1, PID, 0x20000, 0x1000, "/lib/x.so");
	/* Nothing is lost that it wrote before it went. */
	set_online("0");
	expect("sample+0:1 map+0:20000 cpu1:off");
	assert_false(machine_samples(1));
	assert_int_equal(machine_events_on(1), 0);
	set_online("0-1");
	expect("cpu1:on");
	assert_true(machine_samples(1));
	assert_int_equal(tick(1, 2), TICK_SENT);
	task_map(1, PID, 0x30000, 0x1000, "/lib/x.so");
	expect("sample+0:2 map+0:30000");
}

/* Records that a CPU left in its ring are read as ever. */
CASE(a_cpu_leaves_records_in_its_ring)
{
	task_fork(1, PID, CHILD);
	task_map(1, CHILD, 0x20000, 0x1000, "/lib/x.so");
	machine_set_online("0");
	fake_clock_pass(SECOND_NS);
	recording_end(&recording);
	assert_string_equal(recording_text(&recording), "fork+1 map+1:20000");
}

CASE(cpus_come_and_go_all_day)
{
	unsigned int events = machine_events_on(0);

	for (unsigned int i = 0; i < 50; i++) {
		set_online("0,3");
		set_online("0-2");
	}
	assert_int_equal(machine_events_on(0), events);
	assert_int_equal(machine_events_on(1), events);
	assert_int_equal(machine_events_on(3), 0);
	recording_rounds(&recording, 2);
	recording_text(&recording);
	assert_int_equal(tick(2, 1), TICK_SENT);
	expect("sample+0:1");
}

/* It is online, and may not be opened: tried again, each second. */
CASE(a_refused_cpu_is_tried_again)
{
	static const struct {
		const char *call;
		unsigned int nth;
	} refusals[] = {{"perf_event_open", 1}, {"perf_event_open", 2}, {"mmap", 1}, {"ioctl", 1}};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		machine_refuse(refusals[i].call, refusals[i].nth, -EMFILE);
		set_online(i ? "0-2" : "0,2");
		assert_string_equal(machine_refused_call(), refusals[i].call);
		assert_false(machine_samples(2));
		assert_int_equal(machine_events_on(2), 0);
		machine_refuse_nothing();
		set_online("0-2");
		assert_true(machine_samples(2));
		assert_int_equal(tick(2, 1), TICK_SENT);
		set_online("0-1");
		recording_text(&recording);
	}
}

/* Likewise, with a ring that could not be made. */
CASE(a_cpu_without_a_ring_is_tried_again)
{
	static const char *const calls[] = {"bpf_map_create", "update:rings", "mmap", "epoll_ctl"};
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		machine_refuse(calls[i], 1, -EMFILE);
		set_online("0-2");
		assert_string_equal(machine_refused_call(), calls[i]);
		assert_false(machine_samples(2));
		assert_int_equal(tick(2, 1), TICK_NO_RING);
		machine_refuse_nothing();
		set_online("0-2");
		assert_true(machine_samples(2));
		assert_int_equal(tick(2, 2), TICK_SENT);
		recording_rounds(&recording, 2);
		recording_teardown(state);
		setup(state);
	}
}

CASE(an_unreadable_list_changes_nothing)
{
	machine_remove_file("/sys/devices/system/cpu/online");
	fake_clock_pass(SECOND_NS);
	recording_rounds(&recording, 2);
	assert_true(machine_samples(0) && machine_samples(1));
	assert_int_equal(tick(1, 1), TICK_SENT);
	expect("sample+0:1");
}

/* CPUs that are not asked for still tell of forks and mappings. */
TEST_WITH(cpus_that_are_left_out_tell_of_forks, prepare, recording_teardown)
{
	uint32_t only[] = {1, 2};

	recording.filter.cpus = (struct cpu_list){.cpus = only, .count = 2};
	recording_begin_app();
	assert_false(machine_samples(0));
	assert_true(machine_samples(1));
	task_fork(0, PID, CHILD);
	task_map(0, CHILD, 0x20000, 0x1000, "/lib/x.so");
	expect("fork+1 map+1:20000");
	set_online("0-3");
	expect("cpu2:on cpu3:on");
	assert_true(machine_samples(2));
	assert_false(machine_samples(3));
	recording.filter.cpus = (struct cpu_list){0};
}

/* Nobody knows when a stopped event would go on after its CPU has gone. */
CASE(throttling_ends_with_the_cpu)
{
	uint64_t id;

	id = machine_clock_id(1);
	assert_true(id);
	machine_throttle(1, id);
	fake_clock_pass(1000000);
	machine_unthrottle(1, id);
	expect("throttled:0=1000001");
	machine_throttle(1, id);
	set_online("0");
	/* At most what an idle CPU may hide. */
	expect("throttled:0=20000000 cpu1:off");
	id = machine_clock_id(0);
	machine_throttle(0, id);
	fake_clock_pass(5000000);
	recorder_stop(recording.recorder);
	recording_end(&recording);
	assert_string_equal(recording_text(&recording), "throttled:0=5000000");
}
