/* SPDX-License-Identifier: MIT */
/* Where on this machine the code is that a profile was recorded of, perhaps elsewhere. */
#ifndef PROF_CMD_RUN_LOOKUP_H
#define PROF_CMD_RUN_LOOKUP_H

#include "lib/base/file_set.h"
#include "lib/base/readers.h"
#include "lib/format/firefox/patch/patch.h"

struct lookup {
	struct patch *patch;
	const char *os; /* "Linux 6.1.0 x86_64", or "" */
	const char *const *dirs; /* of --debug-dir, NULL-terminated */
	/*
	 * Who wrote the profile, and gets to see no file through it that they may not read; NULL:
	 * nobody but us. They, and the owner of each file that is found, become its users.
	 */
	const struct readers *readers;
};

/*
 * Puts the files of the profile's modules into the set, and gives modules without one a reason.
 * Kernel code: by a vmlinux with the recorded build id, else the running kernel's own list where
 * that is the kernel that was recorded, else by System.map-RELEASE of one of the directories. The
 * files of its modules are debug files, which are looked for later.
 */
void lookup_files(const struct lookup *lookup, struct file_set *files);

/* The owner of an open file; of a pipe nobody is known. */
struct reader lookup_reader(int fd);

/* "6.1.0" of "Linux 6.1.0 x86_64", to be freed; NULL: unknown, or no name of a file. */
char *lookup_kernel_release(const char *os);

#endif
