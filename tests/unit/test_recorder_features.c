/* SPDX-License-Identifier: MIT */
/* `prof check`, and what it says where a recording was refused: one row and one hint for each. */
#include <errno.h>
#include <string.h>

#include "lib/live/features.h"
#include "tests/machine/machine.h"
#include "tests/unit/test.h"

#define SETCAP \
	"run prof with sudo, or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace," \
	"cap_dac_read_search,cap_checkpoint_restore,cap_syslog,cap_ipc_lock+ep /usr/bin/prof"
#define CONTAINER \
	"in a container: start it with --privileged, or with --cap-add for BPF, PERFMON, " \
	"SYS_PTRACE, SYSLOG, DAC_READ_SEARCH, CHECKPOINT_RESTORE"

#define SECCOMP \
	"a seccomp filter blocks it: start the container with --security-opt " \
	"seccomp=unconfined, or with --cap-add SYS_ADMIN and PERFMON; in a systemd unit: " \
	"SystemCallFilter=bpf perf_event_open"

/* Lines of /proc/self/status: all capabilities, those for BPF and perf events, none. */
#define ALL "Name:\tprof\nCapEff:\t000001ffffffffff\n"
#define NECESSARY "Name:\tprof\nCapEff:\t000000c000000000\n"
#define NONE "Name:\tprof\nCapEff:\t0000000000000000\n"
#define FILTERED "Seccomp:\t2\nSeccomp_filters:\t1\n"

static int setup(void **state)
{
	machine_start("0-1");
	machine_link_file("/proc/self/exe", "/usr/bin/prof");
	return 0;
}

static int teardown(void **state)
{
	return machine_stop() ? -1 : 0;
}

static void expect(const char *name, enum feature_status status, const char *detail,
		   const char *hint)
{
	struct feature features[FEATURES_MAX];
	size_t count = features_probe(features, FEATURES_MAX);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(features[i].name, name) != 0)
			continue;
		assert_string_equal(features[i].detail, detail);
		assert_string_equal(features[i].hint, hint);
		assert_int_equal(features[i].status, status);
		return;
	}
	fail_msg("no row %s", name);
}

/* The reason that a refused recording gives. */
static void expect_reason(const char *text, const char *hint)
{
	struct error err = {0};

	assert_int_equal(features_explain(&err), -EPERM);
	assert_string_equal(err.text, text);
	assert_string_equal(err.hint, hint);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(a_machine_that_can_record)
{
	struct feature features[FEATURES_MAX];
	size_t count = features_probe(features, FEATURES_MAX);
	struct error err = {0};

	assert_in_range(count, 12, FEATURES_MAX);
	for (size_t i = 0; i < count; i++) {
		assert_int_not_equal(features[i].status, FEATURE_MISSING);
		/* It has neither counters nor context switches, and no user probes. */
		if (strcmp(features[i].name, "pmu") != 0 &&
		    strcmp(features[i].name, "waits") != 0 &&
		    strcmp(features[i].name, "user probes") != 0)
			assert_int_equal(features[i].status, FEATURE_OK);
	}
	assert_int_equal(features_explain(&err), 0);
	assert_int_equal(features_probe(features, 3), 3);
}

CASE(old_kernels_are_refused)
{
	expect("kernel", FEATURE_OK, "6.6.0-machine", "");
	machine_settings.release = "6.1.0-18-amd64";
	expect("kernel", FEATURE_OK, "6.1.0-18-amd64", "");
	machine_settings.release = "7.0.0";
	expect("kernel", FEATURE_OK, "7.0.0", "");
	machine_settings.release = "6.0.9";
	expect("kernel", FEATURE_MISSING, "6.0.9 is too old: Linux 6.1 or newer is needed",
	       "boot a newer kernel");
	machine_settings.release = "5.15.0";
	expect_reason("cannot record: kernel: 5.15.0 is too old: Linux 6.1 or newer is needed",
		      "boot a newer kernel");
	machine_settings.release = "next";
	expect("kernel", FEATURE_NOTE, "its version is unknown", "");
}

CASE(types_are_needed)
{
	machine_remove_file("/sys/kernel/btf/vmlinux");
	expect_reason("cannot record: btf: /sys/kernel/btf/vmlinux: No such file or directory",
		      "boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
	machine_remove_file("/sys/kernel");
	expect_reason("cannot record: btf: /sys/kernel/btf/vmlinux: No such file or directory",
		      "run: mount -t sysfs sysfs /sys");
}

CASE(a_locked_kernel_is_refused)
{
	machine_write_file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	expect("lockdown", FEATURE_OK, "not in the way", "");
	machine_write_file("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	expect_reason("cannot record: lockdown: the kernel is locked down (confidentiality): BPF "
		      "may not read it",
		      "boot with lockdown=integrity");
}

CASE(not_privileged)
{
	machine_settings.uid = 1000;
	machine_write_file("/proc/self/status", "Name:\tprof\nCapEff:\t0000000000000000\n");
	expect("capabilities", FEATURE_MISSING, "not privileged: missing cap_bpf, cap_perfmon",
	       SETCAP);
	/* CAP_PERFMON and CAP_BPF suffice; what is missing costs something. */
	machine_write_file("/proc/self/status", "Name:\tprof\nCapEff:\t000000c000000000\n");
	expect("capabilities", FEATURE_NOTE,
	       "missing cap_sys_ptrace (no names in other users' processes), "
	       "cap_dac_read_search (no names in files that the caller may not read), "
	       "cap_checkpoint_restore (no names in deleted files), cap_syslog (kernel functions "
	       "have no names), cap_ipc_lock (one recording at a time)",
	       SETCAP);
	/* CAP_SYS_ADMIN has been all of them. */
	machine_write_file("/proc/self/status", "Name:\tprof\nCapEff:\t0000000400280004\n");
	expect("capabilities", FEATURE_NOTE, "missing cap_ipc_lock (one recording at a time)",
	       SETCAP);
	machine_settings.uid = 0;
	machine_write_file("/proc/self/status", "Name:\tprof\nCapEff:\t0000000000000000\n");
	expect("capabilities", FEATURE_MISSING, "not privileged: missing cap_bpf, cap_perfmon",
	       CONTAINER);
	machine_write_file("/proc/self/uid_map", "0 1000 1\n");
	expect("capabilities", FEATURE_MISSING, "not privileged: missing cap_bpf, cap_perfmon",
	       "run prof as root of the machine, outside of the user namespace");
}

CASE(perf_events_that_are_refused)
{
	machine_refuse("perf_event_open", 0, -EACCES);
	machine_write_file("/proc/sys/kernel/perf_event_paranoid", "4\n");
	expect("perf_event_paranoid", FEATURE_MISSING,
	       "4: above 2, CAP_PERFMON does not suffice: CAP_SYS_ADMIN is needed",
	       "run: sudo sysctl kernel.perf_event_paranoid=2");
	machine_write_file("/proc/sys/kernel/perf_event_paranoid", "2\n");
	expect("perf_event_paranoid", FEATURE_OK, "2", "");
	expect("perf_event", FEATURE_MISSING, "perf_event_open: Permission denied", CONTAINER);
	expect("pmu", FEATURE_NOTE, "not tried: perf_event_open() is refused", "");
	expect("rings", FEATURE_NOTE, "not tried: perf_event_open() is refused", "");
	machine_refuse_nothing();
	machine_refuse("perf_event_open", 0, -ENOSYS);
	expect("perf_event", FEATURE_MISSING, "perf_event_open: Function not implemented",
	       "boot a kernel with CONFIG_PERF_EVENTS=y");
	machine_remove_file("/proc/sys/kernel/perf_event_paranoid");
	expect("perf_event_paranoid", FEATURE_MISSING, "the kernel has no perf events",
	       "boot a kernel with CONFIG_PERF_EVENTS=y");
}

CASE(bpf_that_is_refused)
{
	machine_refuse("bpf_map_create", 0, -EPERM);
	expect("bpf", FEATURE_MISSING, "loading a ring buffer: Operation not permitted", CONTAINER);
	machine_refuse_nothing();
	machine_refuse("bpf_prog_load", 0, -EINVAL);
	expect("bpf", FEATURE_MISSING, "loading a program: Invalid argument",
	       "boot a newer kernel");
	machine_refuse_nothing();
	machine_refuse("bpf_map_create", 0, -ENOSYS);
	expect_reason("cannot record: bpf: loading a ring buffer: Function not implemented",
		      "boot a kernel with CONFIG_BPF_SYSCALL=y");
}

CASE(seccomp_filters_are_named)
{
	machine_write_file("/proc/self/status", NECESSARY FILTERED);
	machine_refuse("perf_event_open", 0, -EPERM);
	expect_reason("cannot record: perf_event: perf_event_open: Operation not permitted",
		      SECCOMP);
	/* Profiles of containers give this error. */
	machine_refuse_nothing();
	machine_refuse("perf_event_open", 0, -ENOSYS);
	expect_reason("cannot record: perf_event: perf_event_open: Function not implemented",
		      SECCOMP);
	machine_refuse_nothing();
	machine_refuse("bpf_prog_load", 0, -EPERM);
	expect_reason("cannot record: bpf: loading a program: Operation not permitted", SECCOMP);
	machine_refuse_nothing();
	machine_refuse("bpf_map_create", 0, -ENOSYS);
	expect("bpf", FEATURE_MISSING, "loading a ring buffer: Function not implemented", SECCOMP);
}

CASE(seccomp_filters_that_did_not_refuse)
{
	machine_write_file("/proc/self/status", ALL FILTERED);
	/* Security modules refuse with this. */
	machine_refuse("perf_event_open", 0, -EACCES);
	expect("perf_event", FEATURE_MISSING, "perf_event_open: Permission denied",
	       CONTAINER "; with podman, also with --security-opt seccomp=unconfined");
	machine_refuse_nothing();
	machine_refuse("bpf_map_create", 0, -EPERM);
	machine_write_file("/proc/self/status", NONE FILTERED);
	expect("bpf", FEATURE_MISSING, "loading a ring buffer: Operation not permitted",
	       CONTAINER "; with podman, also with --security-opt seccomp=unconfined");
	machine_write_file("/proc/self/status", ALL FILTERED);
	machine_write_file("/proc/self/uid_map", "0 1000 1\n");
	expect("bpf", FEATURE_MISSING, "loading a ring buffer: Operation not permitted",
	       "run prof as root of the machine, outside of the user namespace");
	machine_refuse_nothing();
	machine_refuse("perf_event_open", 0, -ENOSYS);
	machine_remove_file("/proc/sys/kernel/perf_event_paranoid");
	expect_reason("cannot record: perf_event_paranoid: the kernel has no perf events",
		      "boot a kernel with CONFIG_PERF_EVENTS=y");
	expect("perf_event", FEATURE_MISSING, "perf_event_open: Function not implemented",
	       "boot a kernel with CONFIG_PERF_EVENTS=y");
}

CASE(privileges_that_cannot_be_gained)
{
	machine_settings.uid = 1000;
	machine_write_file("/proc/self/status", NONE "NoNewPrivs:\t1\n");
	expect_reason("cannot record: capabilities: not privileged: missing cap_bpf, cap_perfmon",
		      "no_new_privs is set, so neither sudo nor setcap helps: run prof as root; in "
		      "a container: --user 0");
	machine_write_file("/proc/self/status", NONE "NoNewPrivs:\t0\n");
	expect("capabilities", FEATURE_MISSING, "not privileged: missing cap_bpf, cap_perfmon",
	       SETCAP);
}

CASE(rings_that_are_refused)
{
	machine_refuse("mmap", 0, -EPERM);
	expect("rings", FEATURE_MISSING,
	       "cannot map the ring of mapping events of CPU 0: Operation not permitted",
	       "run: sysctl kernel.perf_event_mlock_kb=516");
}

CASE(low_rates_are_noted)
{
	expect("sample rate", FEATURE_OK, "at most 100000 Hz", "");
	machine_write_file("/proc/sys/kernel/perf_event_max_sample_rate", "250\n");
	expect("sample rate", FEATURE_NOTE, "250 Hz: less than the default of 999",
	       "run: sudo sysctl kernel.perf_event_max_sample_rate=10000");
	machine_remove_file("/proc/sys/kernel/perf_event_max_sample_rate");
	expect("sample rate", FEATURE_NOTE, "unknown", "");
}

CASE(what_recording_can_do_without)
{
	expect("pmu", FEATURE_NOTE,
	       "no hardware counters: -e cycles and the like are not available", "");
	machine_settings.has_pmu = true;
	expect("pmu", FEATURE_OK, "hardware counters, for -e", "");
	expect("tracefs", FEATURE_OK, "mounted", "");
	machine_remove_file("/sys/kernel/tracing");
	expect("tracefs", FEATURE_NOTE, "not mounted; recording does not need it",
	       "run: sudo mount -t tracefs tracefs /sys/kernel/tracing");
	machine_write_file("/sys/kernel/debug/tracing/events/x", "");
	expect("tracefs", FEATURE_OK, "mounted", "");
	expect("open files", FEATURE_OK, "at most 65536 open files", "");
	machine_settings.files_max = 1024;
	expect("open files", FEATURE_NOTE, "at most 1024 open files: names may be missing",
	       "run: ulimit -Hn 4096");
}

CASE(names_of_the_kernel)
{
	struct error err = {0};

	expect("kptr_restrict", FEATURE_OK, "0, addresses are visible", "");
	assert_int_equal(features_explain_kernel_symbols(&err), 0);
	machine_write_file("/proc/kallsyms", "0000000000000000 T _text\n");
	machine_write_file("/proc/sys/kernel/kptr_restrict", "2\n");
	expect("kptr_restrict", FEATURE_NOTE, "2: kernel functions have no names",
	       "run: sudo sysctl kernel.kptr_restrict=1");
	machine_write_file("/proc/sys/kernel/kptr_restrict", "1\n");
	expect("kptr_restrict", FEATURE_NOTE, "1: kernel functions have no names", "");
	machine_write_file("/proc/self/status", "Name:\tprof\nCapEff:\t000000c000000000\n");
	assert_int_equal(features_explain_kernel_symbols(&err), -EPERM);
	assert_string_equal(err.text, "kernel functions have no names: kernel.kptr_restrict is 1");
	assert_string_equal(err.hint, CONTAINER);
}

CASE(nothing_can_be_read)
{
	struct feature features[FEATURES_MAX];

	machine_remove_file("/proc/self");
	machine_remove_file("/proc");
	machine_remove_file("/sys");
	assert_in_range(features_probe(features, FEATURES_MAX), 12, FEATURES_MAX);
}
