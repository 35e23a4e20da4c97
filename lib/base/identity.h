/* SPDX-License-Identifier: MIT */
/* For whom the program works: the invoking user, also under sudo. */
#ifndef PROF_LIB_BASE_IDENTITY_H
#define PROF_LIB_BASE_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

struct identity {
	uid_t uid;
	gid_t gid;
	bool is_self; /* it is the effective user anyway: nothing to switch */
};

/*
 * SUDO_UID and SUDO_GID count only if the effective uid is 0, both are numbers, and SUDO_UID is not
 * 0; else the user itself.
 */
struct identity identity_of_invoker(void);

/*
 * File access as that user: switches this thread's fsuid, fsgid and supplementary groups' effect
 * until identity_restore_files(). Returns what to restore. Nothing happens where is_self.
 */
struct identity identity_assume_files(const struct identity *who);
void identity_restore_files(const struct identity *before);

#endif
