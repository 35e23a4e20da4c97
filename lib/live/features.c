/* SPDX-License-Identifier: MIT */
#include "lib/live/features.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "lib/base/program.h"
#include "lib/base/quote.h"
#include "lib/live/instrument.h"
#include "lib/live/machine/host.h"
#include "lib/live/perf/perf_event.h"

/* Privileges of this process, and ways to gain the missing ones. See capabilities(7). */

#define SMALL_FILE_MAX 4096

static uint64_t machine_read_capabilities(void)
{
	_cleanup_free_ char *status = text_read_file("/proc/self/status", 65536, NULL);
	const char *at = status ? strstr(status, "\nCapEff:") : NULL;

	return at ? strtoull(at + strlen("\nCapEff:"), NULL, 16) : 0;
}

static bool machine_has_capability(const struct machine *m, unsigned int capability)
{
	return m->capabilities & (UINT64_C(1) << capability);
}

/* Root in a user namespace has every capability there, but none that matters here. */
static bool in_user_namespace(void)
{
	_cleanup_free_ char *map = text_read_file("/proc/self/uid_map", SMALL_FILE_MAX, NULL);
	unsigned int inside, outside, count;

	if (!map || sscanf(map, "%u %u %u", &inside, &outside, &count) != 3)
		return false;
	return inside != 0 || outside != 0 || count != UINT32_MAX;
}

/* Capabilities that recording needs. `without`: effect of lacking one; NULL: no recording. */
static const struct {
	unsigned int number;
	const char *name, *without;
} capabilities[] = {
	{CAP_BPF, "bpf", NULL},
	{CAP_PERFMON, "perfmon", NULL},
	{CAP_SYS_PTRACE, "sys_ptrace", "no names in other users' processes"},
	{CAP_DAC_READ_SEARCH, "dac_read_search", "no names in files that the caller may not read"},
	{CAP_CHECKPOINT_RESTORE, "checkpoint_restore", "no names in deleted files"},
	{CAP_SYSLOG, "syslog", "kernel functions have no names"},
	{CAP_IPC_LOCK, "ipc_lock", "one recording at a time"},
};

#define CAPABILITY_COUNT (sizeof(capabilities) / sizeof(capabilities[0]))

static void hint_setcap(struct feature *f)
{
	_cleanup_(strbuf_release) struct strbuf list = {0}, program = {0};
	char path[64];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path));

	if (proc_status_own("NoNewPrivs")) {
		feature_hint(
			f,
			"no_new_privs is set, so neither sudo nor setcap helps: run prof as root; "
			"in a container: --user 0");
		return;
	}
	if (program_is_launched()) {
		feature_hint(f, "run prof with sudo");
		return;
	}
	for (size_t i = 0; i < CAPABILITY_COUNT; i++)
		strbuf_addf(&list, "%scap_%s", i ? "," : "", capabilities[i].name);
	/* Longer paths are left to the user to fill in. */
	if (size <= 0 || (size_t)size >= sizeof(path))
		size = snprintf(path, sizeof(path), "PROF");
	quote_word(&program, path, (size_t)size);
	feature_hint(f, "%srun prof with sudo, or once: sudo setcap %s+ep %s",
		     proc_status_pid_namespace() ? "start the container with --user 0, or " : "",
		     strbuf_text(&list), strbuf_text(&program));
}

static bool has_seccomp_filter(void)
{
	return proc_status_own("Seccomp") == SECCOMP_MODE_FILTER;
}

void feature_hint_privilege(struct feature *f)
{
	f->wants_privilege = true;
	if (in_user_namespace())
		feature_hint(f, "run prof as root of the machine, outside of the user namespace");
	else if (geteuid() != 0)
		hint_setcap(f);
	else
		feature_hint(f,
			     "in a container: start it with --privileged, or with --cap-add for "
			     "BPF, PERFMON, SYS_PTRACE, SYSLOG, DAC_READ_SEARCH, "
			     "CHECKPOINT_RESTORE%s",
			     has_seccomp_filter() ? "; with podman, also with "
						    "--security-opt seccomp=unconfined"
						  : "");
}

/*
 * CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE were split off CAP_SYS_ADMIN, which still
 * includes them.
 */
static bool may(const struct machine *m, unsigned int capability)
{
	return machine_has_capability(m, capability) ||
	       (machine_has_capability(m, CAP_SYS_ADMIN) &&
		(capability == CAP_BPF || capability == CAP_PERFMON ||
		 capability == CAP_CHECKPOINT_RESTORE));
}

static bool has_necessary(const struct machine *m)
{
	return !items_find(capabilities, CAPABILITY_COUNT, it, !it->without && !may(m, it->number));
}

bool feature_hint_seccomp(const struct machine *m, struct feature *f, int code)
{
	/* Without the sysctl the kernel has no perf events, which another row reports. */
	if (!has_seccomp_filter() || m->paranoid == -2)
		return false;
	if (code != -ENOSYS && (code != -EPERM || in_user_namespace() || !has_necessary(m)))
		return false;
	feature_hint(
		f,
		"a seccomp filter blocks it: start the container with --security-opt "
		"seccomp=unconfined, or with --cap-add SYS_ADMIN and PERFMON; in a systemd unit: "
		"SystemCallFilter=bpf perf_event_open");
	return true;
}

static void feature_probe_capabilities(struct machine *m, struct feature *f)
{
	_cleanup_(strbuf_release) struct strbuf missing = {0};

	if (access("/proc/self/status", R_OK)) {
		feature_set(f, FEATURE_MISSING, "not known: /proc is not mounted");
		feature_hint(f, "run: mount -t proc proc /proc");
		return;
	}
	feature_set(f, FEATURE_OK, "all that recording needs");
	for (size_t i = 0; i < CAPABILITY_COUNT; i++) {
		const char *without = capabilities[i].without;

		if (may(m, capabilities[i].number))
			continue;
		if (!without)
			f->status = FEATURE_MISSING;
		else if (f->status == FEATURE_MISSING)
			break; /* the missing capability was already named */
		else
			f->status = FEATURE_NOTE;
		strbuf_addf(&missing, "%scap_%s", missing.size ? ", " : "", capabilities[i].name);
		if (without)
			strbuf_addf(&missing, " (%s)", without);
	}
	if (f->status == FEATURE_OK)
		return;
	feature_set(f, f->status, "%smissing %s",
		    f->status == FEATURE_MISSING ? "not privileged: " : "", strbuf_text(&missing));
	feature_hint_privilege(f);
}

/*
 * Probes try things wherever possible. Sysctls and capabilities only explain failed trials, because
 * containers, security modules and seccomp filters refuse without a reason.
 */

#define KERNEL_MAJOR_MIN 6
#define KERNEL_MINOR_MIN 1
/* The highest perf_event_paranoid at which CAP_PERFMON suffices. Debian adds level 3. */
#define PARANOID_MAX 2
#define KALLSYMS_START_BYTES (1u << 20)

void feature_set(struct feature *f, enum feature_status status, const char *fmt, ...)
{
	va_list args;

	f->status = status;
	va_start(args, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, args);
	va_end(args);
}

void feature_hint(struct feature *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(f->hint, sizeof(f->hint), fmt, args);
	va_end(args);
}

static bool read_number(const char *path, int64_t *value)
{
	_cleanup_free_ char *text = text_read_file(path, SMALL_FILE_MAX, NULL);
	char *end;

	if (!text)
		return false;
	errno = 0;
	*value = strtoll(text, &end, 10);
	return end != text && !errno;
}

static void probe_kernel(struct machine *m, struct feature *f)
{
	struct utsname name;
	unsigned int major = 0, minor = 0;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2) {
		feature_set(f, FEATURE_NOTE, "its version is unknown");
		return;
	}
	feature_set(f, FEATURE_OK, "%s", name.release);
	if (major > KERNEL_MAJOR_MIN || (major == KERNEL_MAJOR_MIN && minor >= KERNEL_MINOR_MIN))
		return;
	feature_set(f, FEATURE_MISSING, "%s is too old: Linux %d.%d or newer is needed",
		    name.release, KERNEL_MAJOR_MIN, KERNEL_MINOR_MIN);
	feature_hint(f, "boot a newer kernel");
}

static void probe_btf(struct machine *m, struct feature *f)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";

	if (access(path, R_OK) == 0) {
		feature_set(f, FEATURE_OK, "%s", path);
		return;
	}
	feature_set(f, FEATURE_MISSING, "%s: %s", path, strerror(errno));
	if (access("/sys/kernel", R_OK))
		feature_hint(f, "run: mount -t sysfs sysfs /sys");
	else
		feature_hint(f, "boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
}

static void probe_lockdown(struct machine *m, struct feature *f)
{
	_cleanup_free_ char *text = text_read_file("/sys/kernel/security/lockdown", SMALL_FILE_MAX,
						   NULL);

	if (!text || !strstr(text, "[confidentiality]")) {
		feature_set(f, FEATURE_OK, "not in the way");
		return;
	}
	feature_set(f, FEATURE_MISSING,
		    "the kernel is locked down (confidentiality): BPF may not read it");
	feature_hint(f, "boot with lockdown=integrity");
}

static void probe_paranoid(struct machine *m, struct feature *f)
{
	if (m->paranoid == -2) {
		feature_set(f, FEATURE_MISSING, "the kernel has no perf events");
		feature_hint(f, "boot a kernel with CONFIG_PERF_EVENTS=y");
	} else if (m->paranoid <= PARANOID_MAX || !m->perf_code) {
		/* Only kernels of some distributions implement values above 2. */
		feature_set(f, FEATURE_OK, "%d", (int)m->paranoid);
	} else {
		feature_set(f, FEATURE_MISSING,
			    "%d: above %d, CAP_PERFMON does not suffice: CAP_SYS_ADMIN is needed",
			    (int)m->paranoid, PARANOID_MAX);
		feature_hint(f, "run: sudo sysctl kernel.perf_event_paranoid=%d", PARANOID_MAX);
	}
}

/* Tries the two uses of bpf(2): a ring, and a program for a perf event. */
static int try_bpf(const char **what)
{
	static const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd;

	*what = "a ring buffer";
	fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "prof_probe", 0, 0,
			    (uint32_t)sysconf(_SC_PAGESIZE), NULL);
	if (fd < 0)
		return -errno;
	close(fd);
	*what = "a program";
	fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "prof_probe", "GPL", insns,
			   sizeof(insns) / sizeof(insns[0]), NULL);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void probe_bpf(struct machine *m, struct feature *f)
{
	const char *what;
	int ret = try_bpf(&what);

	if (!ret) {
		feature_set(f, FEATURE_OK, "ring buffer and program loaded");
		return;
	}
	feature_set(f, FEATURE_MISSING, "loading %s: %s", what, strerror(-ret));
	if (feature_hint_seccomp(m, f, ret))
		return;
	if (ret == -EPERM || ret == -EACCES)
		feature_hint_privilege(f);
	else if (ret == -ENOSYS)
		feature_hint(f, "boot a kernel with CONFIG_BPF_SYSCALL=y");
	else if (ret == -ENOMEM)
		feature_hint(f, HINT_MEMORY);
	else
		feature_hint(f, "boot a newer kernel");
}

static int try_perf_event(uint32_t cpu)
{
	struct sampling_event event = {.clock = CLOCK_CPU, .frequency_hz = 1};
	_cleanup_close_ int fd = sampling_event_open(&event, cpu);

	return fd < 0 ? fd : 0;
}

/* Tests the addresses themselves: the sysctl does not decide for every reader. */
static bool kernel_addresses_visible(void)
{
	_cleanup_free_ char *text = text_read_file("/proc/kallsyms", KALLSYMS_START_BYTES, NULL);
	const char *line = text;

	/* The first addresses may be offsets of per-CPU variables, which are always near 0. */
	while (line && *line) {
		if (strtoull(line, NULL, 16) >> 32)
			return true;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return false;
}

static void probe_kptr(struct machine *m, struct feature *f)
{
	int64_t restricted = 0;

	read_number("/proc/sys/kernel/kptr_restrict", &restricted);
	if (kernel_addresses_visible()) {
		feature_set(f, FEATURE_OK, "%d, addresses are visible", (int)restricted);
		return;
	}
	/* Above 0, root needs CAP_SYSLOG as well; above 1, no process sees addresses. */
	feature_set(f, FEATURE_NOTE, "%d: kernel functions have no names", (int)restricted);
	if (restricted > 1)
		feature_hint(f, "run: sudo sysctl kernel.kptr_restrict=1");
	else if (!machine_has_capability(m, CAP_SYSLOG))
		feature_hint_privilege(f);
}

static void probe_files(struct machine *m, struct feature *f)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit)) {
		feature_set(f, FEATURE_NOTE, "unknown");
	} else if (limit.rlim_max < FILES_WANTED) {
		feature_set(f, FEATURE_NOTE, "at most %u open files: names may be missing",
			    (unsigned int)limit.rlim_max);
		feature_hint(f, "run: ulimit -Hn %d", FILES_WANTED);
	} else {
		feature_set(f, FEATURE_OK, "at most %llu open files",
			    (unsigned long long)limit.rlim_max);
	}
}

static void probe_processes(struct machine *m, struct feature *f)
{
	if (!proc_status_pid_namespace()) {
		feature_set(f, FEATURE_OK, "those of the whole machine");
		return;
	}
	feature_set(f, FEATURE_NOTE,
		    "only those of this container, which has a pid namespace of its own");
	feature_hint(f, "start it with --pid=host; in Kubernetes: hostPID: true");
}

/* Ordered such that the first failure explains those after it. */
static const struct instrument_check probes[] = {
	{.name = "kernel", .run = probe_kernel},
	{.name = "btf", .run = probe_btf},
	{.name = "lockdown", .run = probe_lockdown},
	{.name = "capabilities", .run = feature_probe_capabilities},
	{.name = "perf_event_paranoid", .run = probe_paranoid},
	{.name = "bpf", .run = probe_bpf},
	{.name = "open files", .run = probe_files},
	{.name = "processes", .run = probe_processes},
	{.name = "kptr_restrict", .run = probe_kptr},
};

struct probing {
	struct machine machine;
	struct feature *features;
	size_t count, max;
};

static void run_followers(struct probing *p, const char *name);

static void run_probe(struct probing *p, const struct instrument_check *check)
{
	if (p->count >= p->max)
		return;
	p->features[p->count] = (struct feature){.name = check->name};
	check->run(&p->machine, &p->features[p->count++]);
	run_followers(p, check->name);
}

/* Runs the instruments' checks that belong after that line. */
static void run_followers(struct probing *p, const char *name)
{
	for (size_t i = 0; instruments[i]; i++) {
		const struct instrument_check *check = instruments[i]->checks;

		for (; check && check->name; check++) {
			if (strcmp(check->after, name) == 0)
				run_probe(p, check);
		}
	}
}

static uint32_t first_online_cpu(void)
{
	struct cpu_list online;
	uint32_t cpu;

	if (cpu_list_read("online", &online))
		return 0;
	cpu = online.cpus[0];
	cpu_list_release(&online);
	return cpu;
}

size_t features_probe(struct feature *features, size_t max)
{
	struct probing p = {.features = features, .max = max};
	struct machine *m = &p.machine;

	m->capabilities = machine_read_capabilities();
	m->cpu = first_online_cpu();
	if (!read_number("/proc/sys/kernel/perf_event_paranoid", &m->paranoid))
		m->paranoid = -2;
	m->perf_code = try_perf_event(m->cpu);
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		run_probe(&p, &probes[i]);
	return p.count;
}

int features_explain(struct error *err)
{
	struct feature features[FEATURES_MAX];
	size_t count = features_probe(features, FEATURES_MAX);

	for (size_t i = 0; i < count; i++) {
		const struct feature *f = &features[i];

		if (f->status != FEATURE_MISSING)
			continue;
		error_text(err, -EPERM, "cannot record: %s: %s", f->name, f->detail);
		error_hint(err, "%s", f->hint);
		return -EPERM;
	}
	return 0;
}

int features_explain_kernel_symbols(struct error *err)
{
	struct machine m = {.capabilities = machine_read_capabilities()};
	struct feature f = {.name = "kptr_restrict"};

	probe_kptr(&m, &f);
	if (f.status == FEATURE_OK)
		return 0;
	if (atoi(f.detail))
		error_text(err, -EPERM,
			   "kernel functions have no names: kernel.kptr_restrict is %d",
			   atoi(f.detail));
	else
		error_text(err, -EPERM, "kernel functions have no names without cap_syslog");
	error_hint(err, "%s", f.hint);
	return -EPERM;
}

int features_explain_processes(struct error *err)
{
	struct feature f = {.name = "processes"};

	probe_processes(NULL, &f);
	if (f.status == FEATURE_OK)
		return 0;
	error_text(err, -EPERM, "processes: %s", f.detail);
	error_hint(err, "%s", f.hint);
	return -EPERM;
}
