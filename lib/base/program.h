/* SPDX-License-Identifier: MIT */
/*
 * The running program as a file. A tarball has its own loader and libraries: a launcher
 * (cmd/launcher) takes the program's place and starts the loader, so /proc/self/exe names the
 * loader.
 */
#pragma once

#include <limits.h>

#include "lib/base/base.h"

/* Looks up commands in PATH, as execvp() does. */

/*
 * Finds the first file with that name in PATH, regardless of its permissions. Allocates nothing. A
 * name with a slash is used as a path.
 */
bool search_path_find(const char *name, char file[PATH_MAX]);

/* Files installed with the running program: in its folder, or in ../lib/prof. */

/*
 * Returns the path of the companion file, which the caller frees. If it exists nowhere, returns its
 * path in the program's folder; NULL if that folder is unknown.
 */
char *companion_path(const char *name);

#define SIGNAL_NAME_SIZE 32 /* including the terminator */

/*
 * Writes "SIGTERM" or "SIGRTMIN+3". Numbers are the kernel's; the C library reserves two real-time
 * signals.
 */
void signal_name(int number, char to[SIGNAL_NAME_SIZE]);

/* Paths below the root of the unpacked tarball. */
#define PROGRAM_PROF "bin/prof"
#define PROGRAM_VIEW "lib/prof/prof-view"
#define PROGRAM_BROWSE "lib/prof/prof-browse"
#define PROGRAM_LOADED "lib/prof/loaded/"
#define PROGRAM_LOADER "ld-prof.so"
/* Number of words before the program's file in the loader's command line. */
#define PROGRAM_LOADER_WORDS 6

/*
 * Variables that the loader would obey, but that are meant for recorded programs: the launcher
 * hides them by replacing their first letter with PROGRAM_HIDDEN, in place.
 */
#define PROGRAM_LOADER_VARIABLES \
	{ \
		"LD_PRELOAD=", "LD_AUDIT=" \
	}
#define PROGRAM_HIDDEN '_'

/* Path with which the program can be started again. Only program_begin() changes it. */
extern char program_again[];

/*
 * Sets the program's place, one of the paths above, and undoes the launcher's changes to
 * `environment`. Call before threads run; without this call, no launcher is assumed.
 */
void program_begin(const char *place, char **environment);

/*
 * Returns the offset in /proc/self/cmdline of the program's own words, after the launcher's. The
 * first one is the file that the loader runs, in place of the program's name.
 */
size_t program_first_word(void);

/* Returns true if a launcher started the program. */
bool program_is_launched(void);

/* Returns the program's path for the caller to free; NULL with errno set on failure. */
char *program_path(void);
