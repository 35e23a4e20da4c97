/* SPDX-License-Identifier: MIT */
/* Instruments: what they open, announce, count and report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/live_record.h"
#include "lib/base/cleanup.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/stream/record/records.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/rings.h"
#include "tests/machine/tasks.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/test.h"

#define PID FIRST_PID
#define SECOND_NS 1000000000ull

static unsigned int announced; /* names of events and schemas */

static void count_announced(void *ctx, const struct rec *rec)
{
	announced += rec->kind == REC_EVENT_NAME || rec->kind == REC_SCHEMA;
}

static int setup(void **state)
{
	announced = 0;
	recording_prepare("0-1");
	recording.on_record = count_announced;
	return 0;
}

static uint64_t number(const struct report *report, enum fact_id id, const char *of)
{
	const struct fact *fact = facts_get(&report->facts, id, of);

	assert_non_null(fact);
	return fact->count;
}

#define CASE(name) TEST_WITH(name, setup, recording_teardown)

CASE(the_cpu_clock_says_what_it_left_out)
{
	_cleanup_(report_release) struct report report = {0};
	struct record_tally tally = {.ticks = 300, .throttled_ticks = 50};

	recording_set(&recording, "interval", "10");
	recording_begin_app();
	/* Half of a second, of which each CPU was idle for 40 ticks of 10 ms. */
	machine_write_file("/proc/stat", "cpu  0 0 0 80 0\ncpu0 0 0 0 40 0\ncpu1 0 0 0 30 10\n");
	machine_counters(0)->other_ticks = 7;
	fake_clock_pass(5 * SECOND_NS);
	recording_end(&recording);
	recorder_report(recording.recorder, &tally, &report);
	assert_string_equal(report.features.items[0], "cpu-clock");
	assert_int_equal(number(&report, FACT_IDLE_TICKS, NULL), 80);
	assert_int_equal(number(&report, FACT_OTHER_TICKS, NULL), 7);
	/* 2 CPUs, 5 s and what the rounds took, less all those that are known of. */
	assert_in_range(number(&report, FACT_SKIPPED_TICKS, NULL), 1000 - 300 - 50 - 7 - 80, 650);
	assert_int_equal(report.warnings.count, 0);
}

static void expect_clock(const char *wish, const char *clock)
{
	_cleanup_(report_release) struct report report = {0};
	struct record_tally tally = {0};

	machine_settings.has_pmu = true;
	if (wish)
		recording_set(&recording, "event", wish);
	recording_begin_app();
	recording_end(&recording);
	recorder_report(recording.recorder, &tally, &report);
	assert_string_equal(report.features.items[0], clock);
	/* None has come: only of the CPU clock it is known how many should have. */
	assert_int_equal(number(&report, FACT_SKIPPED_TICKS, NULL) > 0,
			 strcmp(clock, "cpu-clock") == 0);
}

CASE(the_cpu_clock_is_preferred)
{
	expect_clock(NULL, "cpu-clock");
}

CASE(a_clock_that_is_asked_for)
{
	expect_clock("task-clock", "task-clock");
}

CASE(cycles_that_are_asked_for)
{
	expect_clock("cycles", "cycles");
}

CASE(fewer_samples_than_by_default)
{
	struct recorder_info info;

	machine_write_file("/proc/sys/kernel/perf_event_max_sample_rate", "250\n");
	recording_begin_app();
	recorder_get_info(recording.recorder, &info);
	assert_int_equal(info.interval_ns, 4000000);
}

CASE(events_are_opened_named_and_counted)
{
	_cleanup_(report_release) struct report report = {0};
	const struct event_tally events[] = {{0}, {.samples = 3, .weight = 30, .lost = 2}};
	struct record_tally tally = {.events = events, .event_count = 2};
	const struct fact *running;

	machine_settings.has_pmu = true;
	machine_write_file("/sys/kernel/tracing/events/sched/sched_switch/id", "300\n");
	recording_set(&recording, "event",
		      "instructions,page-faults/freq=100,tracepoint:sched_switch");
	recording_begin_app();
	assert_int_equal(announced, 3);
	/* The mapping event, the clock, two events; and on one CPU the tracepoint. */
	assert_int_equal(machine_events_on(0) + machine_events_on(1), 9);
	machine_event_state(1, 0)->lost = 2;
	machine_event_state(2, 1)->pending = 5;
	fake_clock_pass(SECOND_NS);
	recording_rounds(&recording, 3);
	assert_string_equal(recording_text(&recording), "lost:ring-full=2");
	/* The tracepoint stays when the second CPU goes. */
	machine_set_online("0");
	fake_clock_pass(SECOND_NS);
	recording_rounds(&recording, 2);
	assert_int_equal(machine_events_on(0) + machine_events_on(1), 5);
	recording_end(&recording);
	recorder_report(recording.recorder, &tally, &report);
	assert_int_equal(number(&report, FACT_EVENT_WEIGHT, "instructions"), 30);
	assert_int_equal(number(&report, FACT_EVENT_LEFT_OVER, "page-faults"), 5);
	running = facts_get(&report.facts, FACT_EVENT_RUNNING, "instructions");
	assert_true(running->real > 0.49 && running->real < 0.51);
	assert_non_null(strstr(report.lines.items[0], "instructions 30 in 3 samples, 2 lost"));
	assert_non_null(strstr(report.lines.items[0], "counted 50.0 % of the time"));
}

/* Old kernels tell less, and so do events whose times cannot be read. */
CASE(what_is_not_known_of_events)
{
	machine_settings.has_old_events = true;
	recording_set(&recording, "event", "page-faults");
	recording_begin_app();
	machine_throttle(0, machine_clock_id(0));
	machine_throttle(0, 12345);
	machine_refuse("read", 0, -EIO);
	recording_end(&recording);
	assert_string_equal(recording_text(&recording), "");
}

CASE(the_kernel_stops_an_event)
{
	recording_begin_app();
	machine_throttle(0, machine_clock_id(0));
	/* The end of the first was lost: for how long it was, nobody knows. */
	machine_throttle(0, machine_clock_id(0));
	fake_clock_pass(3000000);
	machine_unthrottle(0, machine_clock_id(0));
	machine_unthrottle(0, machine_clock_id(0));
	recording_rounds(&recording, 2);
	assert_string_equal(recording_text(&recording), "throttled:0=0 throttled:0=3000001");
}

CASE(signals_are_counted)
{
	_cleanup_(report_release) struct report report = {0};
	struct record_tally tally = {0};

	recording_set(&recording, "signals", "");
	recording_begin_app();
	assert_int_equal(announced, 1);
	machine_count_signals(5, 2);
	fake_clock_pass(SECOND_NS);
	recording_rounds(&recording, 3);
	assert_string_equal(recording_text(&recording), "lost:event=2");
	machine_count_signals(6, 2);
	recording_end(&recording);
	assert_string_equal(recording_text(&recording), "");
	recorder_report(recording.recorder, &tally, &report);
	assert_int_equal(number(&report, FACT_SIGNALS_DELIVERED, NULL), 6);
	assert_string_equal(report.lines.items[0], "signals: 6, 2 lost");
}

struct sent_markers {
	char text[256];
	struct rec_marker last; /* without its values */
	unsigned int count;
};

/* Keeps the texts of all values in one. */
static void note_marker(void *ctx, const struct rec *rec)
{
	const struct rec_marker *marker = (const struct rec_marker *)rec;
	struct sent_markers *found = ctx;

	if (rec->kind != REC_MARKER)
		return;
	memcpy(&found->last, marker, sizeof(found->last));
	snprintf(found->text, sizeof(found->text), "%.*s", (int)marker->text_size,
		 rec_marker_text(marker));
	found->count++;
}

/* Returns the settings of the option's instrument, after it was set. */
static const struct marker_settings *set_length(const char *name, const char *value, int code)
{
	const struct instrument_option *option;
	const struct instrument *owner = NULL;
	struct error err = {0};
	size_t i = 0;

	while ((option = instrument_option_at(i, &owner)) && strcmp(option->name, name) != 0)
		i++;
	assert_non_null(option);
	assert_int_equal(
		option->set(instrument_settings_of(&recording.settings, owner), value, &err), code);
	assert_int_equal(err.code, code);
	return instrument_settings_of(&recording.settings, owner);
}

/* Each option for markers of some length takes 0: all of them. */
CASE(all_lengths_may_be_0)
{
	static const char *const names[] = {"io", "jank", "syscalls"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_false(marker_is_wanted(set_length(names[i], "-1", -EINVAL)));
		assert_int_equal(set_length(names[i], "2.5", 0)->min_ns, 2500000);
		assert_int_equal(set_length(names[i], "0", 0)->min_ns, 0);
		assert_true(marker_is_wanted(set_length(names[i], NULL, 0)));
	}
}

CASE(requests_to_disks_become_markers)
{
	struct sent_markers found = {0};
	struct rec_io io = {.start = 5, .device = 259u << 20 | 7, .bytes = 4096, .operation = 1};

	recording_set(&recording, "io", "2.5");
	recording_begin_app();
	recording.on_record = note_marker;
	recording.ctx = &found;
	record_init(&io.rec, REC_IO, sizeof(io), clock_monotonic_ns(), FIRST_PID, FIRST_PID + 1);
	io.rec.cpu = 1;
	io.rec.flags = IO_HAS_STACK;
	io.stack.stack_id = 77;
	assert_true(ring_write(0, &io, sizeof(io), NULL));
	fake_clock_pass(SECOND_NS);
	recording_rounds(&recording, 3);
	assert_int_equal(found.count, 1);
	/* An unknown device is told by its number. */
	assert_string_equal(found.text, "I/O 259:7259:7writedone");
	assert_int_equal(found.last.start, 5);
	assert_int_equal(found.last.rec.cpu, 1);
	assert_int_equal(found.last.rec.tid, FIRST_PID + 1);
	assert_int_equal(found.last.rec.flags, MARKER_CAUSE);
	io.rec.pid = io.rec.tid = 0;
	io.rec.flags = IO_WRITE_BACK;
	io.rec.time = clock_monotonic_ns();
	io.operation = 99;
	io.status = 10;
	assert_true(ring_write(0, &io, sizeof(io), NULL));
	fake_clock_pass(SECOND_NS);
	recording_rounds(&recording, 3);
	assert_int_equal(found.count, 2);
	assert_string_equal(found.text, "I/O 259:7Write-back259:7otherfailed");
	assert_int_equal(found.last.rec.flags, MARKER_ROW);
}

CASE(faults_become_markers)
{
	struct sent_markers found = {0};
	/* Innermost names first. */
	static const char names[] = "data\0srv\0";
	uint64_t words[(sizeof(struct rec_fault) + 16) / 8] = {0};
	struct rec_fault *fault = (struct rec_fault *)words;

	recording_set(&recording, "faults", NULL);
	recording_begin_app();
	recording.on_record = note_marker;
	recording.ctx = &found;
	record_init(&fault->rec, REC_FAULT, sizeof(words), clock_monotonic_ns(), FIRST_PID,
		    FIRST_PID);
	fault->rec.cpu = 1;
	fault->address = 0x7000;
	fault->names_size = sizeof(names) - 1;
	memcpy(fault->names, names, sizeof(names) - 1);
	assert_true(ring_write(0, words, sizeof(words), NULL));
	fault->rec.flags = PATH_NAMES_CUT;
	assert_true(ring_write(0, words, sizeof(words), NULL));
	fake_clock_pass(SECOND_NS);
	recording_rounds(&recording, 3);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.last.rec.cpu, 1);
	assert_string_equal(found.text, "\xe2\x80\xa6/srv/data0x7000");
	assert_int_equal(found.last.rec.flags, MARKER_CAUSE);
	fault->names_size = 0;
	fault->rec.words = sizeof(*fault) / 8;
	fault->rec.time = clock_monotonic_ns();
	assert_true(ring_write(0, words, sizeof(*fault), NULL));
	fake_clock_pass(SECOND_NS);
	recording_rounds(&recording, 3);
	assert_int_equal(found.count, 3);
	assert_string_equal(found.text, "[anonymous]0x7000");
}

CASE(large_files_that_are_mapped_become_markers)
{
	struct sent_markers found = {0};
	uint64_t words[(sizeof(struct rec_mapped) + 8) / 8] = {0};
	struct rec_mapped *mapped = (struct rec_mapped *)words;

	recording_begin_app();
	/* Recordings without them have no schema of theirs. */
	assert_int_equal(announced, 0);
	record_init(&mapped->rec, REC_MAPPED, sizeof(words), clock_monotonic_ns(), FIRST_PID,
		    FIRST_PID);
	mapped->rec.cpu = 1;
	mapped->kilobytes = 5 << 10;
	mapped->names_size = 5;
	memcpy(mapped->names, "data", 5);
	assert_true(ring_write(0, words, sizeof(words), NULL));
	fake_clock_pass(SECOND_NS);
	recording_rounds(&recording, 3);
	assert_int_equal(announced, 1);
	recording.on_record = note_marker;
	recording.ctx = &found;
	mapped->rec.time = clock_monotonic_ns();
	assert_true(ring_write(0, words, sizeof(words), NULL));
	fake_clock_pass(SECOND_NS);
	recording_rounds(&recording, 3);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.last.rec.cpu, 1);
	assert_string_equal(found.text, "/data");
}

CASE(unwinding_is_reported)
{
	_cleanup_(report_release) struct report report = {0};
	struct record_tally tally = {0};

	recording.options.unwind = RECORDER_UNWIND_AUTO;
	recording_begin_app();
	machine_counters(1)->skipped_copies = 4;
	machine_counters(0)->skipped_arguments = 3;
	recording_end(&recording);
	recorder_report(recording.recorder, &tally, &report);
	assert_int_equal(number(&report, FACT_COPIES_SKIPPED, NULL), 4);
	assert_int_equal(number(&report, FACT_ARGUMENTS_SKIPPED, NULL), 3);
	assert_int_equal(number(&report, FACT_TABLES_REFUSED, NULL), 0);
}

/* Ticks of CPU 0: the first 64 took 1 ms in all, and of 640 later ones 10 took 3 µs each. */
CASE(programs_say_what_they_took)
{
	_cleanup_(report_release) struct report report = {0};
	struct record_tally tally = {0};

	recording_begin_app();
	machine_costs(0)->of[TIMED_TICK] = (struct program_cost){
		.runs = TIMED_RUNS + 640,
		.early_ns = 1000000,
		.late_timed = 10,
		.late_ns = 30000,
		.max_ns = 90500,
	};
	machine_costs(1)->of[TIMED_TICK] =
		(struct program_cost){.runs = 3, .early_ns = 80000, .max_ns = 70000};
	machine_costs(1)->of[TIMED_EXIT] =
		(struct program_cost){.runs = 2, .early_ns = 200000, .max_ns = 150000};
	recording_end(&recording);
	recorder_report(recording.recorder, &tally, &report);
	assert_int_equal(number(&report, FACT_BPF_TIME, NULL),
			 1000000 + 640 * 3000 + 80000 + 200000);
	assert_true(facts_get(&report.facts, FACT_BPF_MAX, NULL)->real == 150);
	assert_int_equal(number(&report, FACT_BPF_PROGRAM_RUNS, "on_tick"), 707);
	assert_int_equal(number(&report, FACT_BPF_PROGRAM_TIMED, "on_tick"), 77);
	assert_int_equal(number(&report, FACT_BPF_PROGRAM_TIME, "on_tick"), 3000000);
	assert_true(facts_get(&report.facts, FACT_BPF_PROGRAM_MAX, "on_tick")->real == 90.5);
	assert_true(facts_get(&report.facts, FACT_BPF_PROGRAM_MEAN, "on_exit")->real == 100);
}

/* A kernel without modules has no event for them: the program is not loaded. */
CASE(no_modules)
{
	machine_remove_file("/proc/modules");
	recording_begin_app();
}
