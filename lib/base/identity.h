/* SPDX-License-Identifier: MIT */
/* For whom the program works: the invoking user, also under sudo. */
#ifndef PROF_LIB_BASE_IDENTITY_H
#define PROF_LIB_BASE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct identity_groups;

struct identity {
	uid_t uid;
	gid_t gid;
	bool is_self; /* it is the effective user anyway: nothing to switch */
	/* Set by identity_assume_files() only, in what it returns. */
	struct identity_groups *groups;
	uint32_t dropped; /* capabilities, by number */
	int failure; /* negative errno: nothing was switched, do not touch files */
};

/*
 * SUDO_UID and SUDO_GID count only if the effective uid is 0, both are numbers, and SUDO_UID is not
 * 0; else the user itself.
 */
struct identity identity_of_invoker(void);

/*
 * File access as that user: switches the fsuid, fsgid and supplementary groups of this thread alone
 * until identity_restore_files(). The kernel takes away the file capabilities (CAP_DAC_OVERRIDE,
 * CAP_FOWNER ...) of a thread whose fsuid is not 0: what the user may not do, root may not either.
 * Returns what to restore, exactly once. Where is_self, only those are taken away, which a
 * program's file may have given to a user other than root.
 */
struct identity identity_assume_files(const struct identity *who);
/*
 * The same as a process with these ids and nothing else: no groups, and no capability for files,
 * whoever the thread works for at the time. -1 is nobody's.
 */
struct identity identity_assume_ids(uid_t uid, gid_t gid);
void identity_restore_files(const struct identity *before);

#endif
