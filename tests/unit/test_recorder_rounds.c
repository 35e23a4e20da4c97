/* SPDX-License-Identifier: MIT */
/* Records of several rings, round by round: what is given out when, and in which order. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/stream/record/records.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/tasks.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/test.h"

#define PID FIRST_PID
#define CHILD (FIRST_PID + 1)
#define NS_PER_MS 1000000ull

static int setup(void **state)
{
	recording_prepare("0-1");
	if (recording_begin(&recording, PID, true))
		return -1;
	task_exec(0, PID, "app", 0x10000, "/bin/app");
	recording_rounds(&recording, 2);
	assert_string_equal(recording_text(&recording),
			    "found+0:sh space+0 map+0:10000 exec+0:app");
	return 0;
}

static void tick(uint32_t cpu, uint64_t leaf)
{
	assert_int_equal(task_tick(cpu, PID, PID, leaf, NULL, 0), TICK_SENT);
}

static void expect(const char *text)
{
	assert_string_equal(recording_text(&recording), text);
}

#define CASE(name) TEST_WITH(name, setup, recording_teardown)

CASE(a_record_is_given_out_one_round_later)
{
	tick(0, 1);
	recording_round(&recording);
	expect("");
	recording_round(&recording);
	expect("sample+0:1");
	recording_rounds(&recording, 2);
	expect("");
	recording_end(&recording);
	expect("");
}

CASE(rings_are_put_into_one_order)
{
	tick(1, 1);
	tick(0, 2);
	tick(1, 3);
	recording_round(&recording);
	tick(0, 4);
	tick(1, 5);
	tick(0, 6);
	recording_round(&recording);
	expect("sample+0:1 sample+0:2 sample+0:3");
	recording_end(&recording);
	expect("sample+0:4 sample+0:5 sample+0:6");
	assert_int_equal(recording.late, 0);
}

CASE(nobody_waits_longer_than_a_timer)
{
	uint64_t before = fake_clock_passed();

	recording_round(&recording);
	assert_in_range(fake_clock_passed() - before, 100 * NS_PER_MS, 101 * NS_PER_MS);
	/* Half a ring is worth a round at once; few records are not. */
	before = fake_clock_passed();
	tick(0, 1);
	ring_wake(0);
	recording_round(&recording);
	assert_in_range(fake_clock_passed() - before, 1, NS_PER_MS);
}

/* A wake-up interrupts the CPU that maps, forks and exits. */
CASE(many_mappings_end_a_wait_but_one_does_not)
{
	uint64_t before = fake_clock_passed();

	task_map(1, PID, 0x20000, 0x1000, "/lib/x.so");
	recording_round(&recording);
	assert_in_range(fake_clock_passed() - before, 100 * NS_PER_MS, 501 * NS_PER_MS);
	before = fake_clock_passed();
	for (unsigned int i = 0; i < 1000; i++)
		assert_true(task_map(1, CHILD, 0x20000, 0x1000, "/lib/x.so"));
	recording_round(&recording);
	assert_in_range(fake_clock_passed() - before, 1, NS_PER_MS);
}

/* Something that happens while the rings are being read. */
struct meanwhile {
	enum machine_pause pause;
	uint32_t cpu;
	void (*fn)(void);
	bool is_done;
};

static void do_meanwhile(void *ctx, enum machine_pause pause, uint32_t cpu)
{
	struct meanwhile *m = ctx;

	if (m->is_done || pause != m->pause || cpu != m->cpu)
		return;
	m->is_done = true;
	m->fn();
}

static void tick_in_the_ring_that_was_read(void)
{
	tick(0, 1);
	tick(1, 2);
}

CASE(a_ring_is_written_behind_the_reader)
{
	struct meanwhile meanwhile = {PAUSE_RING, 1, tick_in_the_ring_that_was_read, false};

	machine_on_pause(do_meanwhile, &meanwhile);
	recording_round(&recording);
	assert_true(meanwhile.is_done);
	expect("");
	/* The second is there already, and waits for the first. */
	recording_round(&recording);
	expect("");
	recording_round(&recording);
	expect("sample+0:1 sample+0:2");
	assert_int_equal(recording.late, 0);
}

static void fork_and_map(void)
{
	task_fork(1, PID, CHILD);
	task_map(0, CHILD, 0x50000, 0x1000, "/lib/x.so");
	task_tick(1, CHILD, CHILD, 0x50010, NULL, 0);
}

/* The mapping is read a round after the fork and the sample. */
CASE(a_mapping_comes_after_its_ring_was_read)
{
	struct meanwhile meanwhile = {PAUSE_RING, 0, fork_and_map, false};

	machine_on_pause(do_meanwhile, &meanwhile);
	recording_rounds(&recording, 4);
	expect("fork+1 map+1:50000 sample+1:50010");
	assert_int_equal(recording.late, 0);
}

static void map_in_the_second_ring(void)
{
	task_fork(0, PID, CHILD);
	task_map(0, CHILD, 0x50000, 0x1000, "/lib/x.so");
	task_map(1, CHILD, 0x60000, 0x1000, "/lib/y.so");
}

/* Mapping rings are read one after the other, too: the second mapping is read first. */
CASE(a_mapping_comes_between_mapping_rings)
{
	struct meanwhile meanwhile = {PAUSE_MAP_RING, 1, map_in_the_second_ring, false};

	machine_on_pause(do_meanwhile, &meanwhile);
	recording_rounds(&recording, 4);
	expect("fork+1 map+1:50000 map+1:60000");
	assert_int_equal(recording.late, 0);
}

CASE(what_is_being_written_holds_younger_ones)
{
	struct ring_place place;

	assert_int_equal(task_tick_slowly(0, PID, PID, 1, &place), TICK_SENT);
	tick(0, 2);
	tick(1, 3);
	task_fork(1, PID, CHILD);
	recording_rounds(&recording, 3);
	expect("");
	ring_finish(&place);
	recording_rounds(&recording, 2);
	expect("sample+0:1 sample+0:2 sample+0:3 fork+1");
	assert_int_equal(recording.late, 0);
}

/* Its writer may have been stopped for good, and memory is not for ever. */
CASE(nobody_is_waited_for_longer_than_a_second)
{
	struct ring_place place;

	assert_int_equal(task_tick_slowly(0, PID, PID, 1, &place), TICK_SENT);
	tick(1, 2);
	for (unsigned int i = 0; i < 9; i++)
		recording_round(&recording);
	expect("");
	recording_rounds(&recording, 4);
	expect("sample+0:2");
	ring_finish(&place);
	recording_rounds(&recording, 3);
	expect("sample+0:1");
	assert_int_equal(recording.late, 1);
}

CASE(nobody_is_waited_for_with_too_much_at_hand)
{
	const uint64_t room = 2 * recording.options.ring_bytes;
	struct ring_place place;
	unsigned int rounds = 0;

	assert_int_equal(task_tick_slowly(0, PID, PID, 1, &place), TICK_SENT);
	while (!recording.text.size && rounds < 8) {
		while (task_tick(1, PID, PID, 2, NULL, 0) == TICK_SENT)
			;
		ring_wake(1);
		recording_round(&recording);
		rounds++;
	}
	/* Two rings are full of them; the third round gives them out. */
	assert_in_range(rounds, 3, 4);
	assert_true(recording.count * 48 >= room / 2);
}

CASE(what_is_unfinished_in_the_end_is_lost)
{
	struct ring_place place;

	assert_int_equal(task_tick_slowly(1, PID, PID, 1, &place), TICK_SENT);
	tick(1, 2);
	recording_end(&recording);
	expect("sample+0:2 lost:event=1");
}

CASE(in_the_end_writers_get_some_time)
{
	struct ring_place place;
	uint64_t before = fake_clock_passed();

	assert_int_equal(task_tick_slowly(1, PID, PID, 1, &place), TICK_SENT);
	recorder_stop(recording.recorder);
	recorder_stop(recording.recorder); /* once is enough */
	assert_false(machine_samples(0) || machine_samples(1));
	recording_end(&recording);
	assert_in_range(fake_clock_passed() - before, 1000 * NS_PER_MS, 1010 * NS_PER_MS);
}

CASE(a_full_ring_loses_and_says_so)
{
	size_t before = recording.count;
	unsigned int sent = 0, lost;
	char text[64];

	while (task_tick(1, PID, PID, 7, NULL, 0) == TICK_SENT)
		sent++;
	for (lost = 1; lost < 5; lost++)
		assert_int_equal(task_tick(1, PID, PID, 7, NULL, 0), TICK_LOST);
	task_fork(1, PID, CHILD);
	task_clone(1, CHILD, CHILD + 1);
	assert_in_range(sent, 1000, 1400);
	recording_end(&recording);
	/* With the process's user, and one record for each cause. */
	assert_int_equal(recording.count, before + sent + 3);
	snprintf(text, sizeof(text), " lost:ring-full=%u lost:event=2", lost);
	assert_non_null(strstr(recording_text(&recording), text));
}

CASE(losses_are_told_at_times_and_once)
{
	machine_counters(0)->lost_samples = 3;
	machine_counters(1)->lost_tracking = 2;
	recording_rounds(&recording, 3);
	expect("lost:ring-full=3 lost:tracking=2");
	machine_counters(0)->lost_samples = 4;
	machine_counters(0)->lost_no_ring = 1;
	machine_refuse("bpf_map_lookup_elem", 1, -EPERM);
	recording_round(&recording);
	assert_string_equal(machine_refused_call(), "bpf_map_lookup_elem");
	recording_rounds(&recording, 4);
	expect("lost:ring-full=1 lost:no-ring=1");
	recording_end(&recording);
	expect("");
}

CASE(malformed_records_are_left_out)
{
	struct rec rec;

	record_init(&rec, REC_SAMPLE, sizeof(rec), 1, PID, PID);
	assert_true(ring_write(0, &rec, sizeof(rec), NULL));
	assert_true(ring_write(0, &rec, 8, NULL));
	rec.kind = 0xff;
	assert_true(ring_write(0, &rec, sizeof(rec), NULL));
	tick(0, 1);
	recording_end(&recording);
	expect("sample+0:1");
}

CASE(the_recording_tells_of_itself)
{
	struct recorder_info info;

	tick(0, 1);
	recorder_get_info(recording.recorder, &info);
	assert_int_equal(info.end_ns, 0);
	recording_end(&recording);
	recorder_get_info(recording.recorder, &info);
	assert_int_equal(info.cpu_count, 2);
	assert_int_equal(info.ring_bytes, 2 * recording.options.ring_bytes);
	assert_int_equal(info.written_bytes,
			 machine_counters(0)->written_bytes + machine_counters(1)->written_bytes);
	assert_true(info.start_ns && info.start_ns < info.end_ns);
	assert_int_equal(info.dropped_files, 0);
}
