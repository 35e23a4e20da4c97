/* SPDX-License-Identifier: MIT */
/* Tells how a distribution provides names for an installed program. */
#ifndef PROF_CMD_TEXT_DEBUG_PACKAGE_H
#define PROF_CMD_TEXT_DEBUG_PACKAGE_H

#include <stdbool.h>

/* True if the path is in a folder that only a distribution's packages write to. */
bool debug_package_may_have(const char *path);
/*
 * Returns "install bash-dbgsym, or set DEBUGINFOD_URLS …" for a file that may be in a package; NULL
 * if there is nothing to say. The caller frees. `root`: folder with the distribution's files, ""
 * for the machine's own, of a container perhaps, whose files are not trusted; has_servers:
 * DEBUGINFOD_URLS is set.
 */
char *debug_package_remedy(const char *root, const char *path, bool has_servers);
/*
 * Returns "sources of libc6 are not on this machine: apt source glibc" for a file that may be in a
 * Debian package; NULL if there is nothing to say. The caller frees.
 */
char *debug_package_sources(const char *root, const char *path);

#endif
