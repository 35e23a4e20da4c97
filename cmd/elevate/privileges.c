/* SPDX-License-Identifier: MIT */
#include "cmd/elevate/privileges.h"

#include <grp.h>
#include <pwd.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "lib/base/identity.h"

static const cap_value_t recording[] = {
	CAP_BPF, /* to enlarge maps while recording */
	CAP_PERFMON, /* to sample CPUs that come online */
	CAP_IPC_LOCK, /* for the rings of several recorders at once */
	CAP_SYS_PTRACE, /* to read other users' /proc/PID/maps and root */
	CAP_DAC_READ_SEARCH, /* to read mapped files */
	CAP_CHECKPOINT_RESTORE, /* to follow /proc/PID/map_files, for deleted files */
	CAP_SYSLOG, /* to read addresses in /proc/kallsyms */
	CAP_KILL, /* to signal a command that runs as the invoking user */
	CAP_SETUID, /* to write files as the invoking user */
	CAP_SETGID,
};

static const cap_value_t writing_as_root[] = {
	CAP_DAC_OVERRIDE, CAP_FOWNER, /* to replace a file in a sticky folder */
};

/*
 * Perf events need CAP_SYS_ADMIN from this level on, which exists in some distributions' kernels.
 */
#define PARANOID_ADMIN 3

static bool perf_takes_admin(void)
{
	_cleanup_free_ char *text = text_read_file("/proc/sys/kernel/perf_event_paranoid", 64,
						   NULL);

	return text && strtol(text, NULL, 10) >= PARANOID_ADMIN;
}

DEFINE_CLEANUP(cap_t, cap_free)

static bool has(cap_t set, cap_value_t capability)
{
	cap_flag_value_t value = CAP_CLEAR;

	/* Older kernels lack newer capabilities. */
	return cap_get_flag(set, capability, CAP_PERMITTED, &value) == 0 && value == CAP_SET;
}

/* Keeps the listed capabilities that the thread is permitted. */
static int keep(cap_t kept, cap_t permitted, const cap_value_t *list, size_t count)
{
	static const cap_flag_t flags[] = {CAP_PERMITTED, CAP_EFFECTIVE};

	for (size_t i = 0; i < count; i++) {
		if (!has(permitted, list[i]))
			continue;
		for (size_t j = 0; j < sizeof(flags) / sizeof(flags[0]); j++) {
			if (cap_set_flag(kept, flags[j], 1, &list[i], CAP_SET))
				return -errno;
		}
	}
	return 0;
}

bool privileges_are_missing(void)
{
	_cleanup_(cap_free) cap_t permitted = geteuid() ? cap_get_proc() : NULL;

	return permitted && !has(permitted, CAP_SYS_ADMIN) && !has(permitted, CAP_BPF) &&
	       !has(permitted, CAP_PERFMON);
}

int privileges_reduce(bool writes_as_root, struct error *err)
{
	/* Older programs have only this capability, from which the newer ones were split off. */
	static const cap_value_t admin = CAP_SYS_ADMIN;
	_cleanup_(cap_free) cap_t permitted = cap_get_proc();
	_cleanup_(cap_free) cap_t kept = cap_init();
	int ret;

	if (!permitted || !kept)
		return error_set(err, -errno, "cannot read the capabilities");
	ret = keep(kept, permitted, recording, sizeof(recording) / sizeof(recording[0]));
	if (!ret && writes_as_root)
		ret = keep(kept, permitted, writing_as_root,
			   sizeof(writing_as_root) / sizeof(writing_as_root[0]));
	if (!ret && (perf_takes_admin() || !has(kept, CAP_BPF) || !has(kept, CAP_PERFMON)))
		ret = keep(kept, permitted, &admin, 1);
	if (ret)
		return error_set(err, ret, "cannot set the capabilities");
	/* Clear the ambient set first: it must stay a subset of the inheritable one. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) || cap_set_proc(kept))
		return error_set(err, -errno, "cannot drop capabilities");
	return 0;
}

static int become(const struct identity *who, struct error *err)
{
	const struct passwd *entry = getpwuid(who->uid);
	gid_t gid = who->gid;

	if ((entry ? initgroups(entry->pw_name, gid) : setgroups(1, &gid)) ||
	    setresgid(gid, gid, gid) || setresuid(who->uid, who->uid, who->uid))
		return error_set(err, -errno, "cannot become user %u", who->uid);
	if (entry) {
		setenv("HOME", entry->pw_dir, 1);
		setenv("USER", entry->pw_name, 1);
		setenv("LOGNAME", entry->pw_name, 1);
	}
	return 0;
}

static int drop_capabilities(struct error *err)
{
	cap_t none = cap_init();
	int failure = 0;

	if (!none || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) || cap_set_proc(none))
		failure = errno;
	if (none)
		cap_free(none);
	return failure ? error_set(err, -failure, "cannot drop capabilities") : 0;
}

int drop_privileges(struct error *err)
{
	struct identity who = identity_of_invoker();

	return (who.is_self ? 0 : become(&who, err)) ?: drop_capabilities(err);
}

int drop_new_privileges(struct error *err)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		       ? error_set(err, -errno, "cannot give up privileges")
		       : 0;
}
