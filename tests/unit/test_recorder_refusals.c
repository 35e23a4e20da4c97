/* SPDX-License-Identifier: MIT */
/* Refusals of a recording: each is one error, and nothing is left open. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/live/kernel/kernel_space.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/tasks.h"
#include "tests/unit/test.h"

#define PID FIRST_PID

static int setup(void **state)
{
	recording_prepare("0-1");
	return 0;
}

/* The next recording is refused with this text, and hint if there is one. */
static void expect(uint32_t pid, bool from_exec, int code, const char *text, const char *hint)
{
	assert_int_equal(recording_begin(&recording, pid, from_exec), code);
	assert_int_equal(recording.err.code, code);
	assert_string_equal(recording.err.text, text);
	assert_string_equal(recording.err.hint, hint);
	recorder_free(recording.recorder);
	recording.recorder = NULL;
	recording.err = (struct error){0};
	assert_int_equal(machine_events_on(0), 0);
	assert_int_equal(machine_events_on(1), 0);
	machine_refuse_nothing();
}

struct refusal {
	const char *call;
	unsigned int nth;
	int code;
	const char *text;
	const char *hint;
};

#define CASE(name) TEST_WITH(name, setup, recording_teardown)

CASE(calls_that_fail)
{
	/* The sampling event is tried first, then opened on each CPU. */
	static const struct refusal refusals[] = {
		{"perf_event_open", 0, -EACCES, "cannot open the sampling event: Permission denied",
		 ""},
		{"perf_event_open", 2, -EMFILE,
		 "cannot open mapping events on CPU 0: Too many open files", ""},
		{"perf_event_open", 5, -EMFILE,
		 "cannot open the sampling event on CPU 1: Too many open files", ""},
		{"epoll_create", 1, -EMFILE, "cannot create an epoll instance: Too many open files",
		 ""},
		{"epoll_create", 2, -EMFILE, "cannot watch rings: Too many open files", ""},
		{"epoll_create", 3, -EMFILE, "cannot watch rings: Too many open files", ""},
		{"epoll_ctl", 1, -ENOSPC, "cannot watch the ring of CPU 0: No space left on device",
		 ""},
		{"epoll_ctl", 4, -ENOSPC, "cannot watch rings: No space left on device", ""},
		{"bpf_map_create", 0, -EPERM, "cannot create BPF maps: Operation not permitted",
		 ""},
		{"bpf_map_create", 2, -ENOMEM, "cannot create BPF maps: Cannot allocate memory",
		 ""},
		{"bpf_map_create", 3, -ENOMEM, "cannot create BPF maps: Cannot allocate memory",
		 ""},
		{"bpf_map_create", 4, -ENOMEM, "cannot create BPF maps: Cannot allocate memory",
		 ""},
		{"update:rings", 0, -ENOMEM,
		 "cannot create a ring of 65536 bytes for CPU 0: Cannot allocate memory", ""},
		{"open_skeleton", 0, -ENOMEM, "cannot open the BPF objects: Cannot allocate memory",
		 ""},
		{"register_handler", 0, -ENOMEM, "", ""},
		{"bpf_map__reuse_fd", 0, -EINVAL,
		 "cannot configure the BPF objects: Invalid argument", ""},
		{"load", 0, -EPERM, "cannot load the BPF programs: Operation not permitted", ""},
		{"load", 0, -EINVAL, "cannot load the BPF programs: Invalid argument", ""},
		{"bpf_prog_test_run", 1, -EPERM,
		 "cannot find the depth of the pid namespace: Operation not permitted", ""},
		{"attach", 1, -ENOENT, "cannot attach the BPF programs: No such file or directory",
		 ""},
		{"mmap", 1, -ENOMEM, "cannot map the ring of CPU 0: Cannot allocate memory", ""},
		{"mmap", 2, -ENOMEM, "cannot map the ring of CPU 0: Cannot allocate memory", ""},
		{"mmap", 3, -EPERM,
		 "cannot map the ring of mapping events of CPU 0: Operation not permitted",
		 "run: sysctl kernel.perf_event_mlock_kb=516"},
		{"ioctl", 1, -EEXIST,
		 "cannot attach the sampler to the sampling event: File exists", ""},
		{"ioctl", 8, -EINVAL, "cannot enable sampling on CPU 1: Invalid argument", ""},
	};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *row = &refusals[i];

		if (!row->text[0])
			continue;
		machine_refuse(row->call, row->nth, row->code);
		expect(PID, true, row->code, row->text, row->hint);
	}
}

/* Recording tasks that run already takes more. */
CASE(calls_for_running_tasks_that_fail)
{
	static const struct refusal refusals[] = {
		{"attach", 2, -ENOENT, "cannot attach the BPF programs: No such file or directory",
		 ""},
		{"attach_iter", 1, -ENOENT,
		 "cannot attach the BPF programs: No such file or directory", ""},
		{"attach_iter", 2, -ENOENT,
		 "cannot attach the BPF programs: No such file or directory", ""},
		{"bpf_iter_create", 1, -EMFILE, "cannot list running tasks: Too many open files",
		 ""},
		{"bpf_iter_create", 2, -EMFILE, "cannot list running tasks: Too many open files",
		 ""},
		{"update:wanted", 1, -E2BIG,
		 "cannot add pid 1073741824 to the filter: Argument list too long", ""},
	};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *row = &refusals[i];

		machine_refuse(row->call, row->nth, row->code);
		expect(PID, false, row->code, row->text, row->hint);
	}
}

CASE(files_that_are_missing)
{
	expect(PID + 1, true, -ESRCH, "no process with pid 1073741825", "");
	machine_write_file("/sys/devices/system/cpu/possible", "0-70000\n");
	expect(PID, true, -EINVAL, "cannot read the list of possible CPUs: Invalid argument", "");
	machine_remove_file("/sys/devices/system/cpu/possible");
	expect(PID, true, -ENOENT,
	       "cannot read the list of possible CPUs: No such file or directory", "");
	machine_write_file("/sys/devices/system/cpu/possible", "0-1\n");
	machine_write_file("/sys/devices/system/cpu/online", "\n");
	expect(PID, true, -EINVAL, "cannot read the list of online CPUs: Invalid argument", "");
	machine_remove_file("/sys/devices/system/cpu/online");
	expect(PID, true, -ENOENT, "cannot read the list of online CPUs: No such file or directory",
	       "");
}

/* Without the small set of types, libbpf reads them all; only what fails then is an error. */
CASE(types_that_are_missing)
{
	machine_write_file("/sys/kernel/btf/vmlinux", "no types");
	assert_int_equal(recording_begin(&recording, PID, false), 0);
	assert_int_equal(machine_call_count("load"), 3);
	recording_teardown(state);
	setup(state);
	machine_remove_file("/sys/kernel/btf/vmlinux");
	machine_refuse("load", 0, -ESRCH);
	expect(PID, true, -ESRCH, "cannot load the BPF programs: No such process", "");
	recording_teardown(state);
	setup(state);
	/* The kernel's verifier may take what it refused with the small set. */
	machine_refuse("load", 1, -EINVAL);
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	recording_teardown(state);
	setup(state);
	machine_refuse("memfd_create", 1, -EMFILE);
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	recording_teardown(state);
	setup(state);
	machine_refuse("register_handler", 1, -ENOMEM);
	assert_int_equal(recording_begin(&recording, PID, false), 0);
	assert_string_equal(machine_refused_call(), "register_handler");
}

CASE(not_allowed_is_not_tried_again)
{
	machine_refuse("load", 0, -EPERM);
	expect(PID, true, -EPERM, "cannot load the BPF programs: Operation not permitted", "");
	assert_int_equal(machine_call_count("load"), 1);
	machine_refuse("load", 0, -EINVAL);
	expect(PID, true, -EINVAL, "cannot load the BPF programs: Invalid argument", "");
	assert_int_equal(machine_call_count("load"), 3);
}

/* Waits are recorded unless said otherwise. */
CASE(waits_that_nobody_asked_for_are_left_out)
{
	instrument_settings_release(&recording.settings);
	instrument_settings_init(&recording.settings);
	/* This machine's types have no context switches: nothing of waits is loaded. */
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	assert_int_equal(machine_call_count("load"), 2);
}

CASE(waits_that_are_asked_for_are_not)
{
	recording_set(&recording, "off-cpu", "100");
	expect(PID, true, -ENOTSUP,
	       "this kernel does not expose context switches to BPF programs: its BTF has no "
	       "btf_trace_sched_switch",
	       "");
	assert_int_equal(machine_call_count("load"), 0);
}

/* Without types to select from, the object of waits is loaded, beside the first or after it. */
CASE(waits_that_are_refused)
{
	machine_remove_file("/sys/kernel/btf/vmlinux");
	machine_refuse("load", 2, -EINVAL);
	recording_set(&recording, "off-cpu", "100");
	expect(PID, true, -EINVAL, "cannot load the BPF programs: Invalid argument", "");
	assert_int_equal(machine_call_count("load"), 3);
	recording_teardown(state);
	setup(state);
	machine_remove_file("/sys/kernel/btf/vmlinux");
	instrument_settings_release(&recording.settings);
	instrument_settings_init(&recording.settings);
	machine_refuse("load", 2, -EINVAL);
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	assert_int_equal(machine_call_count("load"), 5);
}

CASE(a_rate_that_is_too_high)
{
	recording_set(&recording, "frequency", "200000");
	expect(PID, true, -EINVAL, "200000 Hz is above this machine's maximum of 100000 Hz",
	       "use -F 100000, or run: sysctl kernel.perf_event_max_sample_rate=200000");
	/* Without a known limit, the kernel decides. */
	machine_remove_file("/proc/sys/kernel/perf_event_max_sample_rate");
	assert_int_equal(recording_begin(&recording, PID, true), 0);
}

CASE(counters_that_are_missing)
{
	recording_set(&recording, "event", "cycles");
	expect(PID, true, -ENOENT,
	       "cycles: this machine has no hardware counters; use cpu-clock or leave out -e", "");
	machine_settings.has_pmu = true;
	recording_set(&recording, "event", "branches");
	/* cycles is tried, then opened; the second event of CPU 0 is that of branches. */
	machine_refuse("perf_event_open", 4, -EOPNOTSUPP);
	expect(PID, true, -ENOENT, "branches: not supported by this machine's CPUs", "");
	machine_refuse("perf_event_open", 4, -EBUSY);
	expect(PID, true, -EBUSY, "cannot open branches on CPU 0: Device or resource busy", "");
	machine_refuse("bpf_link_create", 1, -EPERM);
	expect(PID, true, -EPERM, "cannot attach a program to branches: Operation not permitted",
	       "");
	machine_refuse("ioctl", 0, -EPERM);
	expect(PID, true, -EPERM,
	       "cannot attach the sampler to the sampling event: Operation not permitted", "");
}

CASE(a_clock_that_is_too_slow)
{
	machine_settings.has_pmu = true;
	recording_set(&recording, "event", "cycles");
	recording_set(&recording, "frequency", "0.5");
	expect(PID, true, -ERANGE, "cycles: the lowest rate is 1 Hz", "");
}

CASE(tracepoints_that_are_missing)
{
	recording_set(&recording, "event", "sched:sched_switch");
	expect(PID, true, -ENOENT, "sched:sched_switch: this kernel has no such tracepoint",
	       "to list tracepoints, run: ls /sys/kernel/tracing/events/sched");
	machine_write_file("/sys/kernel/tracing/events/sched/sched_switch/id", "300\n");
	machine_refuse("bpf_link_create", 1, -EINVAL);
	expect(PID, true, -EINVAL, "sched:sched_switch: this is a probe, not a tracepoint", "");
	machine_remove_file("/sys/kernel/tracing");
	expect(PID, true, -ENOENT, "tracepoints need tracefs, which is not mounted",
	       "run: mount -t tracefs tracefs /sys/kernel/tracing");
}

CASE(filters_that_do_not_fit)
{
	static const char *const maps[] = {"update:wanted", "update:wanted_tids",
					   "update:wanted_cgroups"};
	uint32_t ids[] = {PID};
	uint64_t group = 7;

	vec_push(&recording.filter.pids, ids[0]);
	vec_push(&recording.filter.tids, ids[0]);
	vec_push(&recording.filter.cgroups, group);
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		machine_refuse(maps[i], 1, -E2BIG);
		expect(PID, true, -E2BIG, "cannot set up the filters: Argument list too long", "");
	}
	assert_int_equal(recording_begin(&recording, PID, true), 0);
}

CASE(tables_that_cannot_be_kept)
{
	recording.options.unwind = RECORDER_UNWIND_AUTO;
	machine_refuse("mmap", 1, -ENOMEM);
	expect(PID, true, -ENOMEM, "cannot map the unwind rules: Cannot allocate memory", "");
	machine_refuse("bpf_map_create", 1, -ENOMEM);
	expect(PID, true, -ENOMEM, "cannot create BPF maps: Cannot allocate memory", "");
	machine_refuse("bpf_map_create", 2, -ENOMEM);
	expect(PID, true, -ENOMEM, "cannot create BPF maps: Cannot allocate memory", "");
}

CASE(more_to_watch_than_may_be)
{
	struct error err = {0};

	assert_int_equal(recording_begin(&recording, PID, true), 0);
	assert_int_equal(recorder_watch(recording.recorder, -1, &err), -EBADF);
	assert_string_equal(err.text, "cannot watch a descriptor: Bad file descriptor");
}

static void give_symbol(void *ctx, const struct kernel_symbol_text *symbol)
{
	assert_int_equal(symbol->size, 0x100);
	(*(unsigned int *)ctx)++;
}

CASE(names_that_the_kernel_keeps)
{
	const uint64_t addrs[] = {0xffffffff81000010, 0xffffffff81000020, 0xffffffff81000100};
	unsigned int count = 0;

	assert_int_equal(recording_begin(&recording, PID, true), 0);
	assert_true(recorder_find_symbols(recording.recorder, addrs, 3, give_symbol, &count));
	assert_int_equal(count, 2);
	machine_refuse("bpf_prog_test_run", 1, -EPERM);
	assert_false(recorder_find_symbols(recording.recorder, addrs, 3, give_symbol, &count));
}
