/* SPDX-License-Identifier: MIT */
/* Descriptions of the machine, and lists of CPUs. */
#include <errno.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/live/machine/host.h"
#include "lib/live/bpf/cpus.h"
#include "tests/unit/test.h"

static void expect_list(const char *text, const uint32_t *cpus, uint32_t count)
{
	struct cpu_list list;

	assert_int_equal(cpu_list_parse(text, &list), 0);
	assert_int_equal(list.count, count);
	assert_memory_equal(list.cpus, cpus, count * sizeof(*cpus));
	cpu_list_release(&list);
	assert_null(list.cpus);
}

TEST(cpu_lists_are_parsed)
{
	static const uint32_t gaps[] = {0, 1, 2, 3, 8, 10, 11};
	static const uint32_t one[] = {5};
	static const uint32_t high[] = {65535};

	expect_list("0-3,8,10-11\n", gaps, 7);
	expect_list("5", one, 1);
	expect_list("5-5\n", one, 1);
	expect_list("65535", high, 1);
}

TEST(wrong_cpu_lists_are_refused)
{
	static const char *const wrong[] = {
		"",
		"\n",
		"a",
		"0,",
		",0",
		"3-1",
		"0-",
		"0--2",
		"1,1",
		"4,2",
		"0-3,2",
		"0 1",
		"18446744073709551616",
		"65536",
		"0-4294967295",
		"-1",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct cpu_list list;

		if (cpu_list_parse(wrong[i], &list) != -EINVAL)
			fail_msg("\"%s\" was taken for a list", wrong[i]);
	}
}

TEST(this_machine_has_cpus)
{
	struct cpu_list online, possible;

	assert_int_equal(cpu_list_read("online", &online), 0);
	assert_int_equal(cpu_list_read("possible", &possible), 0);
	assert_true(online.count >= 1);
	assert_true(online.count <= possible.count);
	cpu_list_release(&online);
	cpu_list_release(&possible);
	assert_int_equal(cpu_list_read("no-such-list", &online), -ENOENT);
}

static void expect_distribution(const char *text, const char *name)
{
	_cleanup_free_ char *found = host_distribution_name(text);

	if (!name)
		assert_null(found);
	else
		assert_string_equal(found, name);
}

TEST(the_distribution_is_found)
{
	expect_distribution("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n",
			    "Debian GNU/Linux 12 (bookworm)");
	expect_distribution("PRETTY_NAME='Arch Linux'", "Arch Linux");
	expect_distribution("PRETTY_NAME=Void", "Void");
	expect_distribution("PRETTY_NAME=\"half\n", "\"half");
	expect_distribution("PRETTY_NAME=\"\n", "\"");
	expect_distribution("PRETTY_NAME=\"\"\n", NULL);
	expect_distribution("PRETTY_NAME=\n", NULL);
	expect_distribution("NOT_PRETTY_NAME=x\n", NULL);
	expect_distribution("", NULL);
}

static void expect_cpu(const char *text, const char *name)
{
	_cleanup_free_ char *found = host_cpu_name(text);

	if (!name)
		assert_null(found);
	else
		assert_string_equal(found, name);
}

TEST(the_cpu_is_named)
{
	expect_cpu("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Fast CPU @ 3GHz\nflags : a\n",
		   "Fast CPU @ 3GHz");
	expect_cpu("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
		   "ARM Neoverse-N1");
	expect_cpu("CPU implementer\t: 0x99\nCPU part\t: 0x1\n", "CPU implementer 0x99 part 0x1");
	/* Only the first CPU's paragraph counts. */
	expect_cpu("processor : 0\n\nmodel name : second\n", NULL);
	expect_cpu("model name", NULL);
	expect_cpu("model name\t:\n", NULL);
	expect_cpu("CPU implementer : 0x\n", NULL);
	expect_cpu("", NULL);
}

TEST(the_host_is_read)
{
	struct host host;

	host_read(&host);
	assert_non_null(host.os);
	assert_int_equal(strncmp(host.os, "Linux ", 6), 0);
	assert_non_null(host.machine);
	assert_true(host.logical_cpus >= 1);
	assert_true(host.physical_cpus >= 1);
	assert_true(host.physical_cpus <= host.logical_cpus);
	assert_true(host.memory_bytes > 1 << 20);
	host_release(&host);
	assert_null(host.os);
}

TEST(idle_time_is_that_of_the_cpus_in_question)
{
	static const char text[] = "cpu  10 20 30 4000 50 0 60 70 0 0\n"
				   "cpu0 1 2 3 100 5 0 6 7 0 0\n"
				   "cpu2 1 2 3 200 6 0 6 7 0 0\n"
				   "cpu11 1 2 3 400 7 0 6 7 0 0\n"
				   "cpu12 1 2\n"
				   "intr 1 2 3 4 5 6 7 8\n"
				   "cpu13 1 2 3 8000 9 0 6 7 0 0\n";
	struct cpu_list only = {0};

	assert_int_equal(idle_time_parse(text, &only, 10), 7180);
	assert_int_equal(steal_time_parse(text, &only, 10), 210);
	assert_int_equal(cpu_list_parse("1-2,11", &only), 0);
	assert_int_equal(idle_time_parse(text, &only, 10), 6130);
	assert_int_equal(steal_time_parse(text, &only, 10), 140);
	assert_int_equal(idle_time_parse("", &only, 10), 0);
	assert_int_equal(idle_time_parse("cpu0 1 2 3 100 5", &only, 10), 0);
	assert_int_equal(steal_time_parse("cpu2 1 2 3 100 5 0 6", &only, 10), 0);
	cpu_list_release(&only);
	assert_true(idle_time_read(&only) > 0);
}
