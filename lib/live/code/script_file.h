/* SPDX-License-Identifier: MIT */
/* The file that a process has loaded a script from. */
#ifndef PROF_LIB_LIVE_CODE_SCRIPT_FILE_H
#define PROF_LIB_LIVE_CODE_SCRIPT_FILE_H

#include <stdint.h>

/*
 * Opens a regular file for reading by its path in the root of the process, as the process's user
 * without groups; files that have to be asked for elsewhere, by file systems that may not answer,
 * are refused. Returns a descriptor or a negative errno.
 */
int script_file_open(uint32_t pid, const char *path);

#endif
