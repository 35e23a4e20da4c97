/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/live/process/container_watch.h"
#include "lib/stream/session/tasks/tasks.h"
#include "lib/stream/process/mapping.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void expect_cgroup(const char *text, const char *wanted)
{
	size_t size;
	const char *path = container_cgroup(text, &size);

	assert_int_equal(size, strlen(wanted));
	assert_memory_equal(path, wanted, size);
}

TEST(chooses_the_line_that_tells)
{
	expect_cgroup("0::/user.slice/session-1.scope\n", "/user.slice/session-1.scope");
	/* Both versions, only one of them in use. */
	expect_cgroup("2:name=systemd:/\n1:memory:/jobs/1\n0::/\n", "/jobs/1");
	expect_cgroup("1:memory:/jobs/1\n0::/system.slice/a.service\n", "/system.slice/a.service");
	expect_cgroup("1:memory:/docker/" ID "\n0::/system.slice/a.service\n", "/docker/" ID);
	expect_cgroup("1:cpu,cpuacct:/a:b\n", "/a:b");
	expect_cgroup("1:cpu:/\n0::/\n", "/");
}

TEST(bears_nonsense)
{
	expect_cgroup("", "");
	expect_cgroup("\n\n", "");
	expect_cgroup("0:", "");
	expect_cgroup("0::", "");
	expect_cgroup("no colon at all", "");
	expect_cgroup("0:::/x", ":/x");
}

TEST(finds_the_innermost_pid)
{
	assert_int_equal(container_ns_pid("Name:\tx\nNSpid:\t100\t7\t1\nNSpgid:\t9\t8\n"), 1);
	assert_int_equal(container_ns_pid("Name:\tx\nNSpid:\t100\n"), 0);
	assert_int_equal(container_ns_pid("Name:\tNSpid:\t1\t2\n"), 0);
	assert_int_equal(container_ns_pid("Name:\tx\nNSpid:\n"), 0);
	assert_int_equal(container_ns_pid("Name:\tx\nNSpid:\t1\tx\n"), 0);
	assert_int_equal(container_ns_pid("Name:\tx\nNSpid:\t1\t99999999999\n"), 0);
	assert_int_equal(container_ns_pid(""), 0);
}

TEST(knows_container_ids)
{
	static const char docker[] = "/docker/" ID, longer[] = "/docker/" ID "0",
			  nested[] = "/docker/" ID "/f" ID;
	const char *path = docker;

	assert_ptr_equal(cgroup_container_id(path, strlen(path)), path + strlen("/docker/"));
	assert_null(cgroup_container_id(path, strlen(path) - 1));
	assert_null(cgroup_container_id(longer, strlen(longer)));
	assert_null(cgroup_container_id("", 0));
	assert_null(cgroup_container_id(nested, strlen(nested)));
}

static void expect_named(const char *cgroup, const char *container, uint32_t ns_pid,
			 const char *wanted)
{
	struct strings strings = {0};
	string_id id, path, name = container ? strings_intern(&strings, container) : NO_STRING;

	path = cgroup ? strings_intern(&strings, cgroup) : NO_STRING;
	id = container_label(&strings, path, name, ns_pid);
	if (wanted)
		assert_string_equal(strings_get(&strings, id), wanted);
	else
		assert_int_equal(id, NO_STRING);
	strings_release(&strings);
}

static void expect_label(const char *cgroup, uint32_t ns_pid, const char *wanted)
{
	expect_named(cgroup, NULL, ns_pid, wanted);
}

TEST(labels)
{
	expect_label(NULL, 0, NULL);
	expect_label("/", 0, NULL);
	expect_label(NULL, 7, "pid 7");
	expect_label("/system.slice/ssh.service", 0, "ssh.service");
	expect_label("/system.slice/ssh.service/", 0, "ssh.service");
	expect_label("/system.slice/docker-" ID ".scope", 0, "0123456789ab");
	expect_label("/docker/" ID "/init.scope", 1, "pid 1 in 0123456789ab");
	expect_named("/docker/" ID "/init.scope", "webapp", 1, "pid 1 in webapp");
	expect_named("/docker/" ID, "webapp", 0, "webapp");
}
