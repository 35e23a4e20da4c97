/* SPDX-License-Identifier: MIT */
/* Modules of mappings, code of the kernel, arguments and containers, as records name them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/live_record.h"
#include "lib/base/cleanup.h"
#include "lib/code/files/file_set.h"
#include "lib/stream/record/records.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/tasks.h"
#include "tests/unit/test.h"

#define PID FIRST_PID

static char seen[4096]; /* "path=id " of each module, and what else a test asks for */
static uint32_t last_module;
static uint8_t last_flags;

static void note(void *ctx, const struct rec *rec)
{
	const struct rec_module *module = (const struct rec_module *)rec;
	const struct rec_arguments *arguments = (const struct rec_arguments *)rec;
	const struct rec_container *container = (const struct rec_container *)rec;
	const struct rec_resource *resource = (const struct rec_resource *)rec;
	size_t size = strlen(seen);

	if (rec->kind == REC_MODULE) {
		last_module = module->module_id;
		last_flags = rec->flags;
		snprintf(seen + size, sizeof(seen) - size, "%.*s ", module->path_size,
			 rec_module_path(module));
	} else if (rec->kind == REC_ARGUMENTS) {
		snprintf(seen + size, sizeof(seen) - size, "%.*s:%s ", arguments->folder_size,
			 arguments->text, arguments->text + arguments->folder_size);
	} else if (rec->kind == REC_CONTAINER) {
		snprintf(seen + size, sizeof(seen) - size, "%.*s ", (int)container->cgroup_size,
			 container->cgroup);
	} else if (rec->kind == REC_RESOURCE) {
		snprintf(seen + size, sizeof(seen) - size, "<%.*s> ", (int)resource->size,
			 resource->attributes);
	}
}

static int setup(void **state)
{
	recording_prepare("0-1");
	recording.on_record = note;
	recording.options.tells_resources = true;
	return 0;
}

static void begin(void)
{
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	task_exec(0, PID, "app", 0x10000, "/bin/app");
	recording_rounds(&recording, 3);
	seen[0] = '\0';
}

static void expect(const char *text)
{
	recording_rounds(&recording, 2);
	assert_string_equal(seen, text);
	seen[0] = '\0';
}

static int last_file(void)
{
	return file_set_find(recorder_source(recording.recorder)->files, last_module);
}

#define CASE(name) TEST_WITH(name, setup, recording_teardown)

/* A mapping names a file of the process's root, which need not be the recorder's. */
CASE(a_file_lies_in_the_root_of_its_process)
{
	_cleanup_free_ char *root = NULL;

	machine_write_file("/root/lib/x.so", "x");
	machine_write_file("/root/lib/y.so", "y");
	root = xstrdup(machine_real_path("/root"));
	machine_link_file("/proc/1073741824/root", root);
	begin();
	task_map_file_as(0, PID, 0x20000, machine_real_path("/root/lib/x.so"), "/lib/x.so");
	expect("/lib/x.so ");
	assert_true(last_file() >= 0);
	/* Another file took its place. */
	task_map_file_as(0, PID, 0x30000, machine_real_path("/root/lib/x.so"), "/lib/y.so");
	expect("/lib/y.so ");
	assert_int_equal(last_file(), -1);
	/* It is the same file, whatever its name. */
	task_map_file_as(1, PID, 0x40000, machine_real_path("/root/lib/x.so"), "/lib/x.so");
	expect("");
}

/* Usually because its process has ended meanwhile. The next one leads to the same row. */
CASE(a_file_is_opened_with_a_later_process)
{
	_cleanup_free_ char *root = NULL;
	const char *file;
	uint32_t first;

	machine_write_file("/root/lib/x.so", "x");
	root = xstrdup(machine_real_path("/root"));
	begin();
	file = machine_real_path("/root/lib/x.so");
	task_map_file_as(0, PID, 0x20000, file, "/lib/x.so");
	expect("/lib/x.so ");
	assert_int_equal(last_flags, MODULE_UNOPENED | MODULE_ENDED);
	assert_int_equal(last_file(), -1);
	first = last_module;
	task_map_file_as(0, PID, 0x30000, file, "/lib/x.so");
	expect("");
	machine_link_file("/proc/1073741824/root", root);
	/* Another path is another file, for all that is known. */
	task_map_file_as(0, PID, 0x40000, file, "/lib/z.so");
	expect("/lib/z.so ");
	assert_int_not_equal(last_module, first);
	task_map_file_as(0, PID, 0x50000, file, "/lib/x.so");
	expect("/lib/x.so ");
	assert_int_equal(last_flags, MODULE_COMPLETED);
	assert_int_equal(last_module, first);
	assert_true(last_file() >= 0);
	task_map_file_as(0, PID, 0x60000, file, "/lib/x.so");
	expect("");
}

/* The kernel itself knows what is mapped there, even if the name is gone. */
CASE(a_file_was_deleted)
{
	_cleanup_free_ char *file = NULL;

	machine_write_file("/gone.so", "x");
	file = xstrdup(machine_real_path("/gone.so"));
	machine_link_file("/proc/1073741824/map_files/20000-20001", file);
	begin();
	task_map_file_as(0, PID, 0x20000, file, "/lib/gone.so (deleted)");
	expect("/lib/gone.so (deleted) ");
	assert_true(last_file() >= 0);
}

CASE(memory_without_a_file_has_no_module)
{
	begin();
	task_map(0, PID, 0x20000, 0x1000, "//anon");
	task_map(0, PID, 0x30000, 0x1000, "/SYSV00000000");
	task_map(0, PID, 0x40000, 0x1000, "[heap]");
	expect("");
	task_map(0, PID, 0x7fff00000000, 0x2000, "[vdso]");
	task_map(0, PID, 0x7fff00010000, 0x2000, "[vdso]");
	expect("[vdso] ");
}

CASE(the_kernel_has_code_of_its_own)
{
	machine_settings.programs = 2;
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	recording_rounds(&recording, 2);
	assert_non_null(strstr(seen, "bpf_prog_0101010101010101_watcher "
				     "bpf_prog_0202020202020202 "
				     "bpf_prog_0202020202020202_watcher "));
	seen[0] = '\0';
	machine_make_code(1, 0xffffffffc0005000, 64, "bpf_prog_new");
	expect("bpf_prog_new ");
}

CASE(programs_that_may_not_be_looked_at_have_no_names)
{
	machine_settings.programs = 2;
	machine_refuse("bpf_prog_get_fd_by_id", 1, -EPERM);
	machine_refuse("bpf_obj_get_info_by_fd", 1, -EPERM);
	seen[0] = '\0';
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	recording_rounds(&recording, 2);
	assert_null(strstr(seen, "bpf_prog"));
}

CASE(modules_are_loaded_meanwhile)
{
	struct rec_loaded loaded = {.start = 0xffffffffc0100000, .size = 0x1000, .name = "ext4"};

	begin();
	record_init(&loaded.rec, REC_LOADED, sizeof(loaded), clock_monotonic_ns(), 0, 0);
	assert_true(ring_write(1, &loaded, sizeof(loaded), NULL));
	expect("[ext4] ");
}

CASE(an_exec_tells_its_arguments)
{
	uint64_t words[sizeof(struct rec_exec) / 8 + 3] = {0};
	struct rec_exec *exec = (struct rec_exec *)words;

	begin();
	record_init(&exec->rec, REC_EXEC, sizeof(words), clock_monotonic_ns(), PID, PID);
	exec->folder_size = 10;
	exec->arguments_size = 7;
	/* Names of folders from the inside out, then the arguments. */
	memcpy(exec->text, "work\0home\0ls\0-la", 17);
	assert_true(ring_write(1, exec, sizeof(words), NULL));
	expect("/home/work:ls ");
}

CASE(arguments_of_a_running_process)
{
	machine_write_bytes("/proc/1073741824/cmdline", "sh\0-c\0ls", 9);
	machine_link_file("/proc/1073741824/cwd", "/tmp");
	seen[0] = '\0';
	assert_int_equal(recording_begin(&recording, PID, false), 0);
	recording_rounds(&recording, 2);
	assert_non_null(strstr(seen, "/tmp:sh "));
}

CASE(an_exec_may_find_itself_in_a_container)
{
	machine_write_file("/proc/1073741824/cgroup", "0::/system.slice/docker.service\n");
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	recording_rounds(&recording, 2);
	seen[0] = '\0';
	task_exec(0, PID, "app", 0x10000, "/bin/app");
	expect("/bin/app /system.slice/docker.service ");
}

#define ENVIRONMENT "/proc/1073741824/environ"

/* Processes without attributes are sent, too, after the first one with some. */
CASE(an_exec_brings_a_new_environment)
{
	static const char with[] = "A=b\0OTEL_SERVICE_NAME=api", without[] = "A=b";

	machine_write_bytes(ENVIRONMENT, without, sizeof(without));
	begin();
	task_exec(0, PID, "app", 0x10000, "/bin/app");
	expect("");
	machine_write_bytes(ENVIRONMENT, with, sizeof(with));
	task_exec(0, PID, "app", 0x10000, "/bin/other");
	expect("/bin/other <service.name=api> ");
	machine_write_bytes(ENVIRONMENT, without, sizeof(without));
	task_exec(0, PID, "app", 0x10000, "/bin/third");
	expect("/bin/third <> ");
	machine_remove_file(ENVIRONMENT);
	task_exec(0, PID, "app", 0x10000, "/bin/fourth");
	expect("/bin/fourth ");
}
