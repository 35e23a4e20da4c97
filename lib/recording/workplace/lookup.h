/* SPDX-License-Identifier: MIT */
/* Finds the code files of a profile on this machine, though it may have been recorded elsewhere. */
#pragma once

#include "lib/base/identity.h"
#include "lib/base/open_file.h"
#include "lib/code/files/file_set.h"
#include "lib/format/firefox/patch/patch.h"
#include "lib/recording/workplace/function_code.h"

/* The cache of perf: files of recordings by build id, in the user's ~/.debug. */

/*
 * Returns the user's cache folder, owned by the user. NULL: none, or others could have written to
 * it. The caller frees.
 */
char *perf_cache_folder(const struct identity *user);

struct lookup {
	struct profile *profile;
	const struct patch *patch; /* provides the debug files named in the profile; NULL: none */
	struct read_contents *contents; /* file contents by file_key; NULL: none */
	const char *os; /* "Linux 6.1.0 x86_64"; NULL: taken from the profile */
	const char *const *dirs; /* folders of --debug-dir, NULL-terminated */
	/*
	 * Writers of the profile: only files that they may read are used, so that the profile
	 * cannot expose other files. NULL: only the current user. They and the owner of each file
	 * found become users of its module.
	 */
	const struct readers *readers;
	/* Time limit for unresponsive files; threads blocked by them are left behind. 0: none. */
	uint64_t stall_ns;
};

/*
 * Opens the files of the profile's modules, by file_key; sets a reason for modules without one.
 * `reserved`: number of descriptors that the caller needs. The caller frees the set.
 *
 * Sources for kernel code, in order: a vmlinux with the recorded build id, the running kernel's
 * symbol list if it is the recorded kernel, the list in perf's cache, System.map-RELEASE in one of
 * the directories. Files of kernel modules are debug files, which are found later.
 */
struct file_set *lookup_files(const struct lookup *lookup, unsigned int reserved);

/* Returns the owner of an open file; unknown for a pipe. */
struct reader lookup_reader(int fd);

/*
 * Returns "6.1.0" of "Linux 6.1.0 x86_64"; NULL if unknown or not usable in a file name. The caller
 * frees.
 */
char *lookup_kernel_release(const char *os);
