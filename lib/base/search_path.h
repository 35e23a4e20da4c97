/* SPDX-License-Identifier: MIT */
/* Commands by name, as execvp() looks them up. */
#ifndef PROF_LIB_BASE_SEARCH_PATH_H
#define PROF_LIB_BASE_SEARCH_PATH_H

#include <limits.h>
#include <stdbool.h>

/*
 * Finds the first file with that name in PATH, regardless of its permissions. Allocates nothing. A
 * name with a slash is found where it says.
 */
bool search_path_find(const char *name, char file[PATH_MAX]);

#endif
