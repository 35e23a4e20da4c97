/* SPDX-License-Identifier: MIT */
/* Home folders in paths, and whose they are. */
#ifndef PROF_LIB_SANITIZE_HOMES_H
#define PROF_LIB_SANITIZE_HOMES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/vec.h"

struct homes {
	VEC(char *) rows; /* besides the usual ones */
	VEC(char *) groups; /* "INITECH" of "/home/INITECH/bob" */
};

void homes_release(struct homes *h);
/* Also learns from "/home/INITECH/bob" that INITECH is no user. */
void homes_add(struct homes *h, const char *path, size_t size);
/* Returns the size of the home folder in which an absolute path lies, 0: it lies in none. */
size_t homes_size(const struct homes *h, const char *path, size_t size);
/* Returns the end of the last home folder in a path, 0: there is none. */
size_t homes_last_end(const struct homes *h, const char *path, size_t size);
/* Returns where in a home folder's path, of that size, the parts begin that tell whose it is. */
size_t homes_owner_start(const char *path, size_t size);

#endif
