/* SPDX-License-Identifier: MIT */
/* The possible places of a unit's .dwo file. */
#ifndef PROF_SYMBOLIZE_DWARF_SPLIT_PATH_H
#define PROF_SYMBOLIZE_DWARF_SPLIT_PATH_H

/*
 * Returns possible path number `place` (from 0) of the file that a skeleton in the file `base`
 * (NULL: unknown) calls `name`, in the folder `dir` (NULL: none). The caller frees it. NULL: no
 * such place, and *ret is -ENOENT, or -ERANGE if there are no more.
 */
char *split_path(const char *base, unsigned int place, const char *dir, const char *name, int *ret);

#endif
