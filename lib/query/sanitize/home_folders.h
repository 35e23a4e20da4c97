/* SPDX-License-Identifier: MIT */
/* Home folders in paths, and whose they are. */
#ifndef PROF_LIB_QUERY_SANITIZE_HOME_FOLDERS_H
#define PROF_LIB_QUERY_SANITIZE_HOME_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/vec.h"

struct home_folders {
	VEC(char *) rows; /* besides the usual ones */
	VEC(char *) groups; /* "INITECH" of "/home/INITECH/bob" */
};

void home_folders_release(struct home_folders *h);
/* Also learns from "/home/INITECH/bob" that INITECH is no user. */
void home_folders_add(struct home_folders *h, const char *path, size_t size);
/* Returns the size of the home folder in which an absolute path lies, 0: it lies in none. */
size_t home_folders_size(const struct home_folders *h, const char *path, size_t size);
/* Returns the end of the last home folder in a path, 0 if none. */
size_t home_folders_last_end(const struct home_folders *h, const char *path, size_t size);
/* Returns where in a home folder's path, of that size, the parts begin that tell whose it is. */
size_t home_folders_owner_start(const char *path, size_t size);

#endif
