/* SPDX-License-Identifier: MIT */
#include "cmd/net/drop.h"

#include <grp.h>
#include <pwd.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "lib/base/identity.h"

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
