/* SPDX-License-Identifier: MIT */
/* By what the names of an installed program are had, as its distribution does it. */
#ifndef PROF_CMD_TEXT_DEBUG_PACKAGE_H
#define PROF_CMD_TEXT_DEBUG_PACKAGE_H

#include <stdbool.h>

/* Is it in a folder that only a distribution's packages put files into? */
bool debug_package_may_have(const char *path);
/*
 * "install bash-dbgsym, or set DEBUGINFOD_URLS …" for a file that may be in a package; to be freed.
 * `root`: the folder in which the distribution's own files are, "" for the machine's;
 * has_servers: DEBUGINFOD_URLS is set. NULL: there is nothing to say.
 */
char *debug_package_remedy(const char *root, const char *path, bool has_servers);

#endif
