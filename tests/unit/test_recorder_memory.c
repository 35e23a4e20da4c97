/* SPDX-License-Identifier: MIT */
/* The memory limit of prof's own control group: which one counts, and what a recording does. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/live/process/cgroup_limits.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/unit/test.h"

#define ROOT "/sys/fs/cgroup"
#define VERSION_2 "24 23 0:22 / " ROOT " rw - cgroup2 cgroup2 rw\n"
#define VERSION_1 "24 23 0:22 / " ROOT "/memory rw - cgroup cgroup rw,memory\n"
#define MB (1ull << 20)

static struct memory_limit limit;

static int setup(void **state)
{
	recording_prepare("0-1");
	machine_write_file("/proc/self/mountinfo", VERSION_2);
	machine_write_file("/proc/self/cgroup", "0::/pod/box\n");
	machine_write_file("/proc/meminfo", "MemTotal: 9 kB\nSwapTotal:       0 kB\n");
	return 0;
}

static int teardown(void **state)
{
	memory_limit_release(&limit);
	return recording_teardown(state);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

static void write_number(const char *group, const char *name, uint64_t number)
{
	char path[256], text[32];

	snprintf(path, sizeof(path), ROOT "%s/%s", group, name);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number);
	machine_write_file(path, text);
}

static void write_group(const char *group, uint64_t max, uint64_t used)
{
	write_number(group, "memory.max", max);
	write_number(group, "memory.current", used);
}

static void expect(const char *group, uint64_t bytes, uint64_t left)
{
	memory_limit_release(&limit);
	memory_limit_find(&limit);
	assert_non_null(limit.folder);
	assert_string_equal(limit.folder, group);
	assert_int_equal(limit.bytes, bytes);
	assert_int_equal(memory_limit_left(&limit), left);
}

static void expect_none(void)
{
	memory_limit_release(&limit);
	memory_limit_find(&limit);
	assert_null(limit.folder);
	assert_true(memory_limit_left(&limit) == UINT64_MAX);
	assert_false(memory_limit_is_near(&limit));
}

CASE(the_group_that_leaves_least)
{
	machine_write_file(ROOT "/pod/box/memory.max", "max\n");
	expect_none();
	write_group("/pod", 100 * MB, 40 * MB);
	expect(ROOT "/pod", 100 * MB, 60 * MB);
	write_group("/pod/box", 64 * MB, 1 * MB);
	expect(ROOT "/pod", 100 * MB, 60 * MB);
	write_group("/pod/box", 64 * MB, 5 * MB);
	expect(ROOT "/pod/box", 64 * MB, 59 * MB);
	machine_write_file("/proc/self/cgroup", "0::/pod\n");
	expect(ROOT "/pod", 100 * MB, 60 * MB);
	machine_write_file("/proc/self/cgroup", "0::/../other\n");
	expect_none();
}

CASE(cached_files_are_left_and_swap_lifts_the_limit)
{
	write_group("/pod/box", 64 * MB, 64 * MB);
	machine_write_file(ROOT "/pod/box/memory.stat",
			   "anon 1\ninactive_file 1048576\nactive_file 7340031\nslab 5\n");
	expect(ROOT "/pod/box", 64 * MB, 8 * MB - 1);
	assert_true(memory_limit_is_near(&limit));
	machine_write_file(ROOT "/pod/box/memory.stat", "inactive_file 8388608\n");
	assert_int_equal(memory_limit_left(&limit), 8 * MB);
	assert_false(memory_limit_is_near(&limit));
	machine_write_file("/proc/meminfo", "SwapTotal:       9 kB\n");
	expect_none();
	write_number("/pod/box", "memory.swap.max", 0);
	expect(ROOT "/pod/box", 64 * MB, 8 * MB);
}

CASE(version_1)
{
	machine_write_file("/proc/self/mountinfo", VERSION_1);
	machine_write_file("/proc/self/cgroup", "3:cpu:/no\n4:memory:/box\n0::/\n");
	write_number("/memory/box", "memory.limit_in_bytes", 9223372036854771712u);
	expect_none();
	write_number("/memory/box", "memory.limit_in_bytes", 32 * MB);
	write_number("/memory/box", "memory.usage_in_bytes", 9 * MB);
	machine_write_file(ROOT "/memory/box/memory.stat",
			   "inactive_file 1\ntotal_inactive_file 1048576\ntotal_active_file 0\n");
	expect(ROOT "/memory/box", 32 * MB, 24 * MB);
	machine_write_file("/proc/meminfo", "SwapTotal:       9 kB\n");
	write_number("/memory/box", "memory.memsw.limit_in_bytes", 32 * MB);
	expect(ROOT "/memory/box", 32 * MB, 24 * MB);
	write_number("/memory/box", "memory.memsw.limit_in_bytes", 33 * MB);
	expect_none();
}

static void expect_sizes(uint64_t left, bool is_machine, uint64_t ring, uint64_t unwind,
			 uint64_t file)
{
	struct memory_sizes sizes = {.ring = 8 * MB, .unwind = 512 * MB};
	struct error err = {0};

	write_group("/pod/box", left + MB, MB);
	memory_limit_release(&limit);
	memory_limit_find(&limit);
	assert_int_equal(memory_limit_fit(&limit, 2, is_machine, &sizes, &err), 0);
	assert_int_equal(sizes.ring, ring);
	assert_int_equal(sizes.unwind, unwind);
	assert_int_equal(sizes.file, file);
}

CASE(sizes_shrink_to_the_limit)
{
	expect_sizes(256 * MB, true, 8 * MB, 512 * MB, 0);
	expect_sizes(255 * MB, true, 8 * MB, 255 * MB / 8, 255 * MB / 2);
	expect_sizes(64 * MB, true, 4 * MB, 8 * MB, 32 * MB);
	expect_sizes(48 * MB, true, 2 * MB, 6 * MB, 24 * MB);
	expect_sizes(64 * MB, false, 4 * MB, 8 * MB, 0);
	expect_sizes(16 * MB, false, 1 * MB, 4 * MB, 0);
}

CASE(what_cannot_fit_is_refused)
{
	recording.options.ring_bytes = 0;
	write_group("/pod/box", 32 * MB, 1 * MB);
	recording_begin(&recording, 0, false);
	assert_null(recording.recorder);
	assert_int_equal(recording.err.code, -ENOMEM);
	assert_string_equal(recording.err.text,
			    "the control group's memory limit of 34 MB leaves 33 MB");
	assert_string_equal(recording.err.hint, "raise the limit, or record single programs");
	write_group("/pod/box", 12 * MB, 1 * MB);
	recording_begin(&recording, FIRST_PID, false);
	assert_int_equal(recording.err.code, -ENOMEM);
	assert_string_equal(recording.err.hint, "raise the limit");
}

CASE(a_recording_sees_the_limit_come_near)
{
	write_group("/pod/box", 1024 * MB, 1 * MB);
	assert_int_equal(recording_begin(&recording, FIRST_PID, false), 0);
	assert_false(recorder_memory_is_short(recording.recorder));
	write_group("/pod/box", 1024 * MB, 1017 * MB);
	assert_true(recorder_memory_is_short(recording.recorder));
}
