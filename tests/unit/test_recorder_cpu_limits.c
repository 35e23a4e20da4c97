/* SPDX-License-Identifier: MIT */
/* CPU limits of control groups: which groups a recording watches, and what it says of them. */
#include <stdio.h>
#include <string.h>

#include "lib/live/process/cgroup_limits.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/tasks.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/test.h"

#define PID FIRST_PID
#define CGROUP "/proc/1073741824/cgroup"
#define ID "4b1a0d8704e56789abcdef0123456789abcdef0123456789abcdef0123456789"
#define VERSION_2 "24 23 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"

static int setup(void **state)
{
	recording_prepare("0");
	machine_write_file("/proc/self/mountinfo", VERSION_2);
	return 0;
}

#define CASE(name) TEST_WITH(name, setup, recording_teardown)

static void write_stat(const char *group, unsigned int periods, unsigned int throttled,
		       unsigned int usec)
{
	char path[256], text[128];

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.stat", group);
	snprintf(text, sizeof(text),
		 "usage_usec 5\nnr_periods %u\nnr_throttled %u\nthrottled_usec %u\n", periods,
		 throttled, usec);
	machine_write_file(path, text);
}

static void expect_lines(const char *const *wanted, size_t count)
{
	struct record_tally tally = {0};
	struct report report = {0};
	size_t found = 0;

	recorder_report(recording.recorder, &tally, &report);
	vec_for_each(&report.lines, char *const *, line) {
		if (!strstr(*line, "CPU limit"))
			continue;
		assert_in_range(found, 0, count - 1);
		assert_string_equal(*line, wanted[found++]);
	}
	assert_int_equal(found, count);
	report_release(&report);
}

static void expect_counts(const char *path, uint64_t periods, uint64_t throttled, uint64_t ns)
{
	struct record_tally tally = {0};
	struct report report = {0};
	struct facts *f = &report.facts;

	recorder_report(recording.recorder, &tally, &report);
	assert_non_null(facts_get(f, FACT_CPU_LIMIT_PERIODS, path));
	assert_int_equal(facts_get(f, FACT_CPU_LIMIT_PERIODS, path)->count, periods);
	assert_int_equal(facts_get(f, FACT_CPU_LIMIT_THROTTLED, path)->count, throttled);
	assert_int_equal(facts_get(f, FACT_CPU_LIMIT_THROTTLED_MS, path)->count, ns);
	report_release(&report);
}

/* Counts begin with the recording. A line for each group that was held back, the longest first. */
CASE(a_process_and_the_groups_above)
{
	static const char *const lines[] = {
		"4b1a0d8704e5: held back by its CPU limit in 31 of 32 periods, 2.40 s",
		"jobs.slice: held back by its CPU limit in 3 of 32 periods, 0.10 s",
	};

	machine_write_file(CGROUP, "0::/jobs.slice/libpod-" ID ".scope\n");
	machine_write_file("/sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
	write_stat("/jobs.slice", 1000, 7, 9000);
	write_stat("/jobs.slice/libpod-" ID ".scope", 100, 50, 700);
	assert_int_equal(recording_begin(&recording, PID, false), 0);
	write_stat("/jobs.slice", 1032, 10, 109000);
	write_stat("/jobs.slice/libpod-" ID ".scope", 132, 81, 2400700);
	expect_lines(NULL, 0);
	recording_end(&recording);
	expect_lines(lines, 2);
	expect_counts("/jobs.slice", 32, 3, 100000000);
	expect_counts("/jobs.slice/libpod-" ID ".scope", 32, 31, 2400000000);
}

/* A container's group comes with its program, and goes with it. */
CASE(a_group_that_vanishes_keeps_its_counts)
{
	static const char *const lines[] = {"box: held back by its CPU limit in 4 of 5 periods, "
					    "0.30 s"};

	machine_write_file(CGROUP, "0::/box\n");
	write_stat("/box", 0, 0, 0);
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	task_exec(0, PID, "app", 0x10000, "/bin/app");
	recording_rounds(&recording, 2);
	write_stat("/box", 5, 4, 300000);
	fake_clock_pass(200000000);
	recording_rounds(&recording, 2);
	machine_remove_file("/sys/fs/cgroup/box");
	fake_clock_pass(200000000);
	recording_rounds(&recording, 2);
	recording_end(&recording);
	expect_lines(lines, 1);
}

CASE(another_group_of_that_name_counts_anew)
{
	machine_write_file(CGROUP, "0::/box\n");
	write_stat("/box", 90, 80, 8000);
	assert_int_equal(recording_begin(&recording, PID, false), 0);
	write_stat("/box", 5, 4, 300);
	recording_end(&recording);
	expect_counts("/box", 5, 4, 300000);
}

CASE(limits_that_did_not_hold_anything_back)
{
	machine_write_file(CGROUP, "0::/box\n");
	write_stat("/box", 0, 0, 0);
	assert_int_equal(recording_begin(&recording, PID, false), 0);
	write_stat("/box", 100, 4, 300);
	recording_end(&recording);
	expect_lines(NULL, 0);
	expect_counts("/box", 100, 4, 300000);
}

static void expect_path(const char *mounts, const char *text, const char *wanted)
{
	struct cgroup_hierarchy h;
	char *path;

	machine_write_file("/proc/self/mountinfo", mounts);
	cgroup_hierarchy_find(&h, "cpu");
	path = cgroup_hierarchy_path(&h, text);
	if (wanted)
		assert_string_equal(path, wanted);
	else
		assert_null(path);
	free(path);
	cgroup_hierarchy_release(&h);
}

CASE(paths_below_the_mount)
{
	static const char hybrid[] =
		"24 23 0:22 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		"25 23 0:23 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
		"26 23 0:24 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
	static const char part[] =
		"26 23 0:24 /docker/1 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpuacct,cpu\n";

	expect_path(VERSION_2, "0::/a/b\n", "/a/b");
	expect_path(VERSION_2, "3:cpu:/x\n0::/\n", "");
	expect_path(VERSION_2, "0::/a", "/a");
	expect_path(VERSION_2, "0::/../other\n", NULL);
	expect_path(VERSION_2, "3:cpu:/x\n", NULL);
	expect_path(VERSION_2, "", NULL);
	expect_path(VERSION_2, "0:\n0::\n", NULL);
	expect_path(hybrid, "5:cpuset:/no\n4:cpuacct,cpu:/a:b\n0::/x\n", "/a:b");
	expect_path(hybrid, "5:cpuset:/no\n0::/x\n", NULL);
	expect_path(part, "4:cpu,cpuacct:/docker/1\n", "");
	expect_path(part, "4:cpu,cpuacct:/docker/1/b\n", "/b");
	expect_path(part, "4:cpu,cpuacct:/docker/12\n", NULL);
	expect_path(part, "4:cpu,cpuacct:/\n", NULL);
	expect_path("", "0::/a\n", NULL);
}

/* Version 1 counts in ns. */
CASE(an_old_control_group)
{
	machine_write_file("/proc/self/mountinfo",
			   "26 23 0:24 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
	machine_write_file(CGROUP, "4:cpu:/job\n0::/\n");
	machine_write_file("/sys/fs/cgroup/cpu/job/cpu.stat",
			   "nr_periods 3\nnr_throttled 1\nthrottled_time 5000000\n");
	assert_int_equal(recording_begin(&recording, PID, false), 0);
	machine_write_file("/sys/fs/cgroup/cpu/job/cpu.stat",
			   "nr_periods 9\nnr_throttled 4\nthrottled_time 9000000\n");
	recording_end(&recording);
	expect_counts("/job", 6, 3, 4000000);
}
