/* SPDX-License-Identifier: MIT */
/* Privileges of this process, and how it can get the missing ones. See capabilities(7). */
#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/program.h"
#include "lib/base/quote.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/live/feature_probe.h"
#include "lib/live/machine/proc_status.h"

#define SMALL_FILE_MAX 4096

uint64_t machine_read_capabilities(void)
{
	_cleanup_free_ char *status = text_read_file("/proc/self/status", 65536, NULL);
	const char *at = status ? strstr(status, "\nCapEff:") : NULL;

	return at ? strtoull(at + strlen("\nCapEff:"), NULL, 16) : 0;
}

bool machine_has_capability(const struct machine *m, unsigned int capability)
{
	return m->capabilities & (UINT64_C(1) << capability);
}

/* Root of a user namespace has every capability there, but none that counts here. */
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
	{CAP_SYS_PTRACE, "sys_ptrace", "other users' processes stay without names"},
	{CAP_DAC_READ_SEARCH, "dac_read_search", "files that others may not read stay unread"},
	{CAP_CHECKPOINT_RESTORE, "checkpoint_restore", "deleted files stay unread"},
	{CAP_SYSLOG, "syslog", "kernel functions stay without names"},
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
	/* A user who installed prof at a longer path knows it. */
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
			     has_seccomp_filter() ? "; with podman, with --security-opt "
						    "seccomp=unconfined, too"
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
	for (size_t i = 0; i < CAPABILITY_COUNT; i++) {
		if (!capabilities[i].without && !may(m, capabilities[i].number))
			return false;
	}
	return true;
}

bool feature_hint_seccomp(const struct machine *m, struct feature *f, int code)
{
	/* Without the sysctl the kernel has no perf events, which another row says. */
	if (!has_seccomp_filter() || m->paranoid == -2)
		return false;
	if (code != -ENOSYS && (code != -EPERM || in_user_namespace() || !has_necessary(m)))
		return false;
	feature_hint(
		f,
		"a seccomp filter refuses it: start the container with --security-opt "
		"seccomp=unconfined, or with --cap-add SYS_ADMIN and PERFMON; in a systemd unit: "
		"SystemCallFilter=bpf perf_event_open");
	return true;
}

void feature_probe_capabilities(struct machine *m, struct feature *f)
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
			break; /* a missing capability was named already */
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
