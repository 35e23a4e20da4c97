/* SPDX-License-Identifier: MIT */
/* Processes that are asked for by pid, name, file, user or CPU: found, missing, or gone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/live/process/targets.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/tasks.h"
#include "tests/unit/test.h"

#define PID FIRST_PID
#define OTHER (FIRST_PID + 1)
#define THREAD (FIRST_PID + 2)
#define NOBODY (FIRST_PID + 3)

static struct targets targets;
static struct filter filter;
static struct error err;

static int setup(void **state)
{
	err = (struct error){0};
	machine_start("0-1");
	task_start(PID, "sh");
	task_start(OTHER, "sleep");
	machine_write_file("/proc/1073741826/status", "Name:\tworker\nTgid:\t1073741824\n");
	return 0;
}

static int teardown(void **state)
{
	targets_release(&targets);
	filter_release(&filter);
	filter = (struct filter){0};
	return machine_stop() ? -1 : 0;
}

static void expect(int code, int expected, const char *text, const char *hint)
{
	assert_int_equal(code, expected);
	assert_int_equal(err.code, expected);
	assert_string_equal(err.text, text);
	assert_string_equal(err.hint, hint);
	err = (struct error){0};
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(processes_are_found_by_pid)
{
	char *name;

	assert_int_equal(targets_add(&targets, (pid_t)PID, &err), 0);
	assert_int_equal(targets_add(&targets, (pid_t)PID, &err), 0);
	assert_int_equal(targets.rows.count, 1);
	name = target_name(&targets.rows.items[0]);
	assert_string_equal(name, "sh");
	free(name);
	expect(targets_add(&targets, (pid_t)NOBODY, &err), -ESRCH, "no process with pid 1073741827",
	       "");
	expect(targets_add(&targets, (pid_t)THREAD, &err), -EINVAL,
	       "1073741826 is a thread of process 1073741824", "use the process: 1073741824");
	machine_refuse("pidfd_open", 1, -EMFILE);
	expect(targets_add(&targets, (pid_t)OTHER, &err), -EMFILE,
	       "cannot follow pid 1073741825: Too many open files", "");
}

CASE(ends_are_noticed)
{
	char *name;

	assert_int_equal(targets_add(&targets, (pid_t)PID, &err), 0);
	assert_int_equal(targets_add(&targets, (pid_t)OTHER, &err), 0);
	assert_false(targets_have_ended(&targets));
	machine_end_process(PID);
	assert_false(targets_have_ended(&targets));
	assert_int_equal(targets.alive, 1);
	name = target_name(&targets.rows.items[0]);
	assert_string_equal(name, "pid 1073741824");
	free(name);
	machine_end_process(OTHER);
	assert_true(targets_have_ended(&targets));
	assert_true(targets_have_ended(&targets));
}

CASE(processes_are_found_by_name)
{
	struct name_set names = {0};

	assert_int_equal(name_set_add(&names, "s*", &err), 0);
	machine_write_file("/proc/cpuinfo", "");
	assert_int_equal(targets_add_names(&targets, &names, "s*", &err), 0);
	assert_int_equal(targets.rows.count, 2);
	names = (struct name_set){0};
	assert_int_equal(name_set_add(&names, "emacs", &err), 0);
	expect(targets_add_names(&targets, &names, "emacs", &err), -ESRCH,
	       "no process is named emacs", "");
	machine_refuse("opendir", 1, -EMFILE);
	expect(targets_add_names(&targets, &names, "emacs", &err), -EMFILE,
	       "cannot open /proc: Too many open files", "");
}

CASE(a_file_holds_the_pid)
{
	_cleanup_free_ char *path = NULL;

	machine_write_file("/run/good", "1073741824\n");
	path = xstrdup(machine_real_path("/run/good"));
	assert_int_equal(targets_add_pidfile(&targets, path, &err), 0);
	assert_int_equal(targets.rows.items[0].pid, PID);
	machine_write_file("/run/good", "12 monkeys\n");
	assert_int_equal(targets_add_pidfile(&targets, path, &err), -EINVAL);
	assert_non_null(strstr(err.text, "/run/good: the file does not contain a pid"));
	machine_write_file("/run/good", "0\n");
	assert_int_equal(targets_add_pidfile(&targets, path, &err), -EINVAL);
	machine_write_file("/run/good", "1073741827\n");
	assert_int_equal(targets_add_pidfile(&targets, path, &err), -ESRCH);
	assert_non_null(strstr(err.text, "no process with pid 1073741827"));
	assert_int_equal(targets_add_pidfile(&targets, machine_real_path("/run"), &err), -EINVAL);
	assert_non_null(strstr(err.text, "/run: not a regular file"));
	assert_int_equal(targets_add_pidfile(&targets, machine_real_path("/none"), &err), -ENOENT);
	assert_non_null(strstr(err.text, "/none: No such file or directory"));
}

CASE(filters_want_what_is_there)
{
	assert_int_equal(filter_add_pid(&filter, PID, &err), 0);
	expect(filter_add_pid(&filter, THREAD, &err), -ESRCH, "no process with pid 1073741826", "");
	assert_int_equal(filter_add_tid(&filter, THREAD, &err), 0);
	expect(filter_add_tid(&filter, NOBODY, &err), -ESRCH, "no thread with tid 1073741827", "");
	assert_int_equal(filter_add_uid(&filter, "root", &err), 0);
	expect(filter_add_uid(&filter, "nobody-at-all", &err), -ENOENT,
	       "no such user: nobody-at-all", "");
	expect(filter_add_uid(&filter, "4294967295", &err), -EINVAL, "--uid 4294967295: not a user",
	       "");
	for (unsigned int i = 1; i < UIDS_MAX; i++)
		assert_int_equal(filter_add_uid(&filter, "1000", &err), 0);
	expect(filter_add_uid(&filter, "1000", &err), -E2BIG, "--uid: more than 16 users", "");
}

CASE(cpus_must_be_online)
{
	assert_int_equal(filter_check_cpus(&filter, &err), 0);
	assert_int_equal(filter_set_cpus(&filter, "0-1", &err), 0);
	assert_int_equal(filter_check_cpus(&filter, &err), 0);
	assert_int_equal(filter_set_cpus(&filter, "1-2", &err), 0);
	expect(filter_check_cpus(&filter, &err), -ENODEV, "--cpu: CPU 2 is not online", "");
	expect(filter_set_cpus(&filter, "2-1", &err), -EINVAL,
	       "--cpu 2-1: must be an ascending list such as 0-3,8", "");
	assert_int_equal(filter_set_cpus(&filter, "0", &err), 0);
	machine_remove_file("/sys/devices/system/cpu/online");
	expect(filter_check_cpus(&filter, &err), -ENOENT,
	       "cannot read the list of online CPUs: No such file or directory", "");
}
