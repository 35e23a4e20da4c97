/* SPDX-License-Identifier: MIT */
/* Filters for tasks: patterns for names, control groups, numbers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/live/process/cgroup_filter.h"
#include "lib/live/process/targets.h"
#include "tests/unit/test.h"

static bool matches(const struct name_set *set, const char *text)
{
	char name[NAME_LENGTH_MAX + 1] = "";

	snprintf(name, sizeof(name), "%s", text);
	return name_set_has(set, name);
}

static bool glob(const char *pattern, const char *text)
{
	struct name_set set = {0};
	struct error err = {0};

	if (name_set_add(&set, pattern, &err))
		fail_msg("%s", err.text);
	return matches(&set, text);
}

TEST(a_plain_name_is_itself)
{
	assert_true(glob("make", "make"));
	assert_false(glob("make", "mak"));
	assert_false(glob("make", "makes"));
	assert_false(glob("make", "cmake"));
	assert_false(glob("make", ""));
	assert_true(glob("kworker/0:1", "kworker/0:1"));
}

TEST(long_names_are_cut_as_the_kernel_does)
{
	assert_true(glob("systemd-networkd", "systemd-network"));
	assert_true(glob("exactly-fifteen", "exactly-fifteen"));
	assert_false(glob("exactly-fiftee", "exactly-fifteen"));
	assert_true(glob("*systemd-network", "systemd-network"));
}

TEST(patterns_are_those_of_a_shell)
{
	assert_true(glob("*", ""));
	assert_true(glob("*", "anything at all"));
	assert_true(glob("work*", "work"));
	assert_true(glob("work*", "worker-1"));
	assert_false(glob("work*", "rework"));
	assert_true(glob("*er", "worker"));
	assert_true(glob("*er", "erer"));
	assert_false(glob("*er", "worker-1"));
	assert_true(glob("a*b*c", "aXbXbXc"));
	assert_false(glob("a*b*c", "aXcXb"));
	assert_true(glob("**a**", "bab"));
	assert_true(glob("w?rk", "work"));
	assert_false(glob("w?rk", "wrk"));
	assert_false(glob("?", ""));
	assert_true(glob("t[0-9a]", "t7"));
	assert_true(glob("t[0-9a]", "ta"));
	assert_false(glob("t[0-9a]", "tb"));
	assert_true(glob("t[!0-9]", "tb"));
	assert_false(glob("t[!0-9]", "t1"));
	assert_false(glob("t[^0-9]", "t1"));
	assert_true(glob("t[]x]", "t]"));
	assert_true(glob("t[a-]", "t-"));
	assert_true(glob("\\*", "*"));
	assert_false(glob("\\*", "x"));
	assert_true(glob("caf\xc3\xa9", "caf\xc3\xa9"));
	assert_true(glob("[\x80-\xff]*", "\xc3\xa9"));
}

TEST(one_of_several_is_enough)
{
	static const char *const patterns[] = {
		"alpha", "beta*", "*gamma",	     "d?lta", "epsilon-longer",
		"zeta",	 "eta",	  "theta-theta-the", "iota",  "kappa"};
	struct name_set set = {0};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		assert_int_equal(name_set_add(&set, patterns[i], NULL), 0);
	assert_true(matches(&set, "alpha"));
	assert_true(matches(&set, "beta"));
	assert_true(matches(&set, "beta-2"));
	assert_true(matches(&set, "gagamma"));
	assert_true(matches(&set, "delta"));
	assert_true(matches(&set, "epsilon-longer"));
	assert_true(matches(&set, "zeta"));
	assert_true(matches(&set, "eta"));
	assert_true(matches(&set, "theta-theta-the"));
	assert_true(matches(&set, "kappa"));
	/* Matches do not run from one pattern into the next. */
	assert_false(matches(&set, "alphabeta"));
	assert_false(matches(&set, "alph"));
	assert_false(matches(&set, "iotakappa"));
	assert_false(matches(&set, ""));
}

TEST(too_much_is_refused)
{
	struct name_set set = {0};
	struct error err = {0};
	int added = 0;

	assert_int_equal(name_set_add(&set, "", &err), -EINVAL);
	assert_int_equal(name_set_add(&set, "[a", &err), -EINVAL);
	assert_string_equal(err.text, "[a: unterminated [");
	while (name_set_add(&set, "fifteen-letters", &err) == 0)
		added++;
	assert_int_equal(added, NAME_WORDS * 4);
	assert_int_equal(err.code, -E2BIG);
	assert_true(matches(&set, "fifteen-letters"));
	assert_int_equal(name_set_add(&set,
				      "?????????????????????????????????????????????????????????"
				      "??????????",
				      &err),
			 -E2BIG);
}

static const char mountinfo[] =
	"22 1 0:20 / /sys rw,nosuid - sysfs sysfs rw\n"
	"30 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
	"31 24 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
	"32 24 0:29 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n"
	"broken line\n";

TEST(hierarchies_are_found)
{
	_cleanup_free_ char *cpu = cgroup_controllers_of(mountinfo, 0, 27);
	_cleanup_free_ char *named = cgroup_controllers_of(mountinfo, 0, 28);
	_cleanup_free_ char *version2 = cgroup2_mount_of(mountinfo);
	static const char groups[] = "4:memory:/a\n3:cpu,cpuacct:/\n1:name=systemd:/\n0::/\n";

	assert_string_equal(cpu, "cpu,cpuacct");
	assert_string_equal(named, "name=systemd");
	assert_string_equal(version2, "/sys/fs/cgroup/unified");
	assert_null(cgroup_controllers_of(mountinfo, 0, 29));
	assert_null(cgroup_controllers_of("", 0, 1));
	assert_null(cgroup2_mount_of("1 2 0:3"));
	assert_int_equal(cgroup_hierarchy_of(groups, "cpu"), 3);
	assert_int_equal(cgroup_hierarchy_of(groups, "cpuacct"), 3);
	assert_int_equal(cgroup_hierarchy_of(groups, "memory"), 4);
	assert_int_equal(cgroup_hierarchy_of(groups, "pids"), 0);
	assert_int_equal(cgroup_hierarchy_of("::\n:\nx", "pids"), 0);
}

TEST(what_is_no_control_group_is_refused)
{
	struct filter f = {0};
	struct error err = {0};

	assert_int_equal(filter_add_cgroup(&f, "/no/such/group", &err), -ENOENT);
	assert_string_equal(err.text, "--cgroup /no/such/group: no such control group");
	assert_int_equal(filter_add_cgroup(&f, "/tmp", &err), -EINVAL);
	assert_int_equal(f.criteria, 0);
	filter_release(&f);
}

TEST(a_thread_brings_its_process)
{
	struct filter f = {0};
	struct error err = {0};

	assert_int_equal(filter_add_tid(&f, (uint32_t)gettid(), &err), 0);
	assert_int_equal(f.criteria, FILTER_PID | FILTER_TID);
	assert_int_equal(f.pids.items[0], getpid());
	assert_int_equal(filter_add_tid(&f, 0x7ffffff0, &err), -ESRCH);
	assert_string_equal(err.text, "no thread with tid 2147483632");
	assert_int_equal(filter_add_pid(&f, 0x7ffffff0, &err), -ESRCH);
	filter_release(&f);
}

TEST(users_and_cpus_are_looked_up)
{
	struct filter f = {0};
	struct error err = {0};

	assert_int_equal(filter_add_uid(&f, "root", &err), 0);
	assert_int_equal(filter_add_uid(&f, "1000", &err), 0);
	assert_int_equal(f.uids.items[0], 0);
	assert_int_equal(f.uids.items[1], 1000);
	assert_int_equal(filter_add_uid(&f, "no-such-user-here", &err), -ENOENT);
	assert_int_equal(filter_add_uid(&f, "99999999999", &err), -EINVAL);
	assert_int_equal(filter_set_cpus(&f, "0", &err), 0);
	assert_int_equal(f.cpus.count, 1);
	assert_int_equal(filter_check_cpus(&f, &err), 0);
	assert_int_equal(filter_set_cpus(&f, "0,60000", &err), 0);
	assert_int_equal(filter_check_cpus(&f, &err), -ENODEV);
	assert_string_equal(err.text, "--cpu: CPU 60000 is not online");
	assert_int_equal(filter_set_cpus(&f, "x", &err), -EINVAL);
	assert_int_equal(filter_set_cpus(&f, "8,0-3", &err), -EINVAL);
	assert_string_equal(err.text, "--cpu 8,0-3: must be an ascending list such as 0-3,8");
	filter_release(&f);
}

TEST(groups_of_units_and_containers_are_known_by_name)
{
	static const char id[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	static const struct {
		const char *name, *wanted;
		bool is_unit, is_container;
	} rows[] = {
		{"nginx.service", "nginx", true, false},
		{"nginx.service", "nginx.service", true, true},
		{"nginx.service", "ngin", false, false},
		{"nginx.slice", "nginx", false, false},
		{"docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
		 "0123", false, true},
		{"docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
		 "012", false, false},
		{"docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
		 "123456", false, false},
		{"docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
		 id, false, true},
		{id, "01234567", false, true},
		{id, id, true, true},
		{"libpod-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
		 "0123", false, true},
		{"libpod-conmon-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
		 ".scope",
		 "0123", false, false},
		{"machine-web.scope", "web", false, true},
		{"lxc.payload.web", "web", false, true},
		{"web", "web", true, true},
		{"webs", "web", false, false},
		/* Words are no beginnings of ids. */
		{"decade-of-decades-and-more-decades.scope", "decade", false, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(cgroup_is_unit(rows[i].name, rows[i].wanted), rows[i].is_unit);
		assert_int_equal(cgroup_is_container(rows[i].name, rows[i].wanted),
				 rows[i].is_container);
	}
}
