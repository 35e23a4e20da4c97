/* SPDX-License-Identifier: MIT */
/* Files that are installed beside the running program. */
#ifndef PROF_LIB_BASE_NEIGHBOUR_H
#define PROF_LIB_BASE_NEIGHBOUR_H

/* Returns the path of that file, which the caller frees; NULL if the program has no folder. */
char *neighbour_path(const char *name);

#endif
