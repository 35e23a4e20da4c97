/* SPDX-License-Identifier: MIT */
/* The places where the .dwo file of a unit may be. */
#ifndef PROF_SYMBOLIZE_DWARF_SPLIT_PATH_H
#define PROF_SYMBOLIZE_DWARF_SPLIT_PATH_H

/*
 * The place number `place`, from 0 on, of the file that a skeleton in the file `base` (NULL:
 * unknown) calls `name`, in the folder `dir` (NULL: none). To be freed. NULL: there is no such
 * place, and *ret is -ENOENT, or -ERANGE where there are no more.
 */
char *split_path(const char *base, unsigned int place, const char *dir, const char *name, int *ret);

#endif
