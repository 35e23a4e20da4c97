/* SPDX-License-Identifier: MIT */
/* Finds the code of a profile on this machine; it may have been recorded elsewhere. */
#ifndef PROF_LIB_RECORDING_WORKPLACE_LOOKUP_H
#define PROF_LIB_RECORDING_WORKPLACE_LOOKUP_H

#include "lib/base/identity.h"
#include "lib/base/readers.h"
#include "lib/code/files/file_set.h"
#include "lib/format/firefox/patch/patch.h"
#include "lib/recording/workplace/read_contents.h"

/* The cache of perf: files of recordings by build id, in the user's ~/.debug. */

/*
 * Returns the folder of the user, who owns it; NULL: there is none, or another one could have
 * filled it. The caller frees.
 */
char *perf_cache_folder(const struct identity *user);

struct lookup {
	struct profile *profile;
	const struct patch *patch; /* knows the debug files that the profile names; NULL: none */
	struct read_contents *contents; /* by file_key; NULL: none */
	const char *os; /* "Linux 6.1.0 x86_64"; NULL: as the profile says */
	const char *const *dirs; /* folders of --debug-dir, NULL-terminated */
	/*
	 * Writers of the profile, who must not see files through it that they may not read; NULL:
	 * only the current user. They, and the owner of each file found, become users of its
	 * module.
	 */
	const struct readers *readers;
	/* Gives up files that do not answer for so long, and leaves threads behind; 0: waits. */
	uint64_t stall_ns;
};

/*
 * Opens the files of the profile's modules, by file_key, and gives modules without one a reason.
 * `reserved`: descriptors that the caller needs for other things. The caller frees the set.
 * Kernel code: a vmlinux with the recorded build id, else the running kernel's own list if it is
 * the recorded kernel, else its list in perf's cache, else System.map-RELEASE in one of the
 * directories. Files of kernel modules are debug files, which are found later.
 */
struct file_set *lookup_files(const struct lookup *lookup, unsigned int reserved);

/* Returns the owner of an open file; unknown for a pipe. */
struct reader lookup_reader(int fd);

/*
 * Returns "6.1.0" of "Linux 6.1.0 x86_64"; NULL if unknown or not usable in a file name. The caller
 * frees.
 */
char *lookup_kernel_release(const char *os);

#endif
