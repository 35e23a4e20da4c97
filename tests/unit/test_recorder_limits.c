/* SPDX-License-Identifier: MIT */
/*
 * Each call of the machine fails once, whichever it is, and descriptors run out at any number: the
 * recording is refused, or it works.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/live/code/jit_files.h"
#include "lib/live/code/span_files.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/tasks.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"

#define PID FIRST_PID
#define CHILD (FIRST_PID + 1)

struct kind {
	bool from_exec;
	enum recorder_unwind unwind;
	const char *event; /* NULL: none */
	bool has_signals;
};

static const struct kind kinds[] = {
	{true, RECORDER_UNWIND_NONE, NULL, false},
	{false, RECORDER_UNWIND_AUTO, "page-faults,instructions,sched:sched_switch", true},
};

static void prepare(const struct kind *kind)
{
	machine_start("0-1");
	machine_settings.has_pmu = true;
	machine_write_file("/sys/kernel/tracing/events/sched/sched_switch/id", "300\n");
	task_start(PID, "sh");
	recording_init(&recording);
	recording.options.unwind = kind->unwind;
	if (kind->event)
		recording_set(&recording, "event", kind->event);
	if (kind->has_signals)
		recording_set(&recording, "signals", "");
}

static unsigned int count_descriptors(void)
{
	unsigned int count = 0;
	DIR *dir = opendir("/proc/self/fd");

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Returns false if it was refused. */
static bool record(const struct kind *kind)
{
	if (recording_begin(&recording, PID, kind->from_exec)) {
		assert_true(recording.err.code < 0);
		assert_string_not_equal(recording.err.text, "");
		return false;
	}
	task_exec(0, PID, "app", 0x10000, "/bin/app");
	task_fork(1, PID, CHILD);
	recording_rounds(&recording, 3);
	assert_int_equal(task_tick(0, PID, PID, 0x10001, NULL, 0), TICK_SENT);
	assert_int_equal(task_tick(1, CHILD, CHILD, 0x10001, NULL, 0), TICK_SENT);
	fake_clock_pass(2000000000);
	recording_rounds(&recording, 3);
	recording_end(&recording);
	assert_non_null(strstr(strbuf_text(&recording.text), "exec+0:app"));
	assert_non_null(strstr(strbuf_text(&recording.text), "fork+1"));
	assert_non_null(strstr(strbuf_text(&recording.text), "sample+0:10001 sample+1:10001"));
	return true;
}

static void finish(void)
{
	recording_release(&recording);
	assert_int_equal(machine_stop(), 0);
}

/* Counts the calls of a whole recording. */
static unsigned int count_calls(const struct kind *kind)
{
	unsigned int count;

	prepare(kind);
	assert_true(record(kind));
	count = machine_call_count(NULL);
	finish();
	return count;
}

TEST(any_call_fails_once)
{
	static const int codes[] = {-EMFILE, -EPERM};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *kind = &kinds[i];
		unsigned int calls = count_calls(kind), refused = 0, open = count_descriptors();

		assert_in_range(calls, 50, 1000);
		for (unsigned int nth = 1; nth <= calls; nth++) {
			prepare(kind);
			machine_refuse(NULL, nth, codes[nth % 2]);
			refused += !record(kind);
			finish();
			assert_int_equal(count_descriptors(), open);
		}
		/* The others are what a recording can do without. */
		assert_in_range(refused, 20, calls - 5);
	}
}

TEST(descriptors_run_out)
{
	struct rlimit limit, low;
	unsigned int recorded = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kind *kind = &kinds[i];
		unsigned int open = count_descriptors();

		for (unsigned int more = 0; more < 240; more += 8) {
			bool is_recorded;

			prepare(kind);
			low.rlim_cur = open + more;
			assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
			is_recorded = record(kind);
			recorded += is_recorded;
			assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
			assert_true(is_recorded || recording.err.code == -EMFILE);
			finish();
			assert_int_equal(count_descriptors(), open);
		}
	}
	/* Newer versions of libbpf need some descriptors more. */
	assert_in_range(recorded, 1, 59);
}

/* Files are closed for room, the oldest first; the recording says how many. */
TEST(more_files_are_mapped_than_may_be_open)
{
	struct recorder_info info;
	struct scratch scratch;

	scratch_init(&scratch);
	prepare(&kinds[0]);
	machine_settings.files_max = 64 + JIT_FILES_DESCRIPTORS + SPAN_FILES_DESCRIPTORS + 5;
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	task_exec(0, PID, "app", 0x10000, "/bin/app");
	for (unsigned int i = 0; i < 5; i++) {
		char *path;

		scratch_run(&scratch, "echo %u > file%u", i, i);
		path = scratch_path(&scratch,
				    (const char[]){'f', 'i', 'l', 'e', (char)('0' + i), 0});
		task_map_file(0, PID, 0x20000 + i * 0x10000, path);
		free(path);
	}
	recording_end(&recording);
	recorder_get_info(recording.recorder, &info);
	/* The kernel's list of symbols is held open twice. */
	assert_int_equal(info.dropped_files, 2);
	assert_string_equal(recording_text(&recording),
			    "found+0:sh space+0 map+0:10000 exec+0:app map+0:20000 map+0:30000 "
			    "map+0:40000 map+0:50000 map+0:60000");
	finish();
	scratch_release(&scratch);
}

/* Some hundred machines have the same files. */
static int keep_files(void **state)
{
	machine_keep_files();
	return 0;
}

TEST_GROUP(keep_files, NULL);
