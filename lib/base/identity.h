/* SPDX-License-Identifier: MIT */
/* The user on whose behalf the program runs: under sudo, the invoking user. */
#pragma once

#include "lib/base/base.h"

struct identity_groups;
struct identity_whole;

struct identity {
	uid_t uid;
	gid_t gid;
	bool is_self; /* the effective user is already this one: nothing to switch */
	/* Set only in values that identity_assume_files() returns. */
	struct identity_groups *groups;
	uint32_t dropped; /* bit mask of dropped capabilities */
	struct identity_whole *whole; /* NULL: only file access is switched */
	int failure; /* negative errno if nothing was switched; files must not be touched then */
};

/*
 * Returns the user in SUDO_UID and SUDO_GID if the effective uid is 0, both are numbers and
 * SUDO_UID is not 0; otherwise the current user.
 */
struct identity identity_of_invoker(void);

/*
 * Accesses files as that user: switches the fsuid, fsgid and supplementary groups of this thread
 * only, until identity_restore_files(). A thread whose fsuid is not 0 loses the file capabilities
 * (CAP_DAC_OVERRIDE, CAP_FOWNER ...), so root may do no more than the user. With is_self, only
 * drops these capabilities, which the program's file may have given to a user other than root.
 * Returns the state to restore, exactly once.
 */
struct identity identity_assume_files(const struct identity *who);
/*
 * Accesses files as a process with only these ids: without groups and file capabilities, regardless
 * of the identity assumed before. -1 matches no user and no group.
 */
struct identity identity_assume_ids(uid_t uid, gid_t gid);
/*
 * Accesses files as that user and without any capability. Also covers files whose permission the
 * kernel derives from effective ids (/proc/sys) or from capabilities of the process that opens or
 * reads them (/proc/kallsyms, /proc/PID/io). Root itself stays as it is.
 */
struct identity identity_assume_all(const struct identity *who);
/* Undoes any of the functions above. */
void identity_restore_files(const struct identity *before);

/*
 * The folder in which results are kept for later runs: ~/.cache/prof of the effective user. What
 * another user could have written is never read.
 */

/* Maximum total size of the folder. */
#define CACHE_FOLDER_BYTES ((uint64_t)256 << 20)

/* Returns the folder, which need not exist, to be freed; NULL: none. Root uses no other's folder.
 */
char *cache_folder_path(void);
/*
 * Opens the folder; with `make`, creates it and its parent if they are missing. Returns a
 * descriptor, or -1 also if other users can change it.
 */
int cache_folder_open(const char *path, bool make);
/* Returns true for a regular file that no other user can have written. */
bool cache_file_is_own(const struct stat *st);
/*
 * Counts a new file of this size. After a quarter of `bytes_max`, removes the least recently used
 * files until the rest fits into it.
 */
void cache_folder_added(int folder, uint64_t bytes, uint64_t bytes_max);
