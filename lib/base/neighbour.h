/* SPDX-License-Identifier: MIT */
/* Files that are installed with the running program: beside it, or in ../lib/prof. */
#ifndef PROF_LIB_BASE_NEIGHBOUR_H
#define PROF_LIB_BASE_NEIGHBOUR_H

/*
 * Returns the path of that file, which the caller frees; the place beside the program if it is
 * nowhere, NULL if the program has no folder.
 */
char *neighbour_path(const char *name);

#endif
