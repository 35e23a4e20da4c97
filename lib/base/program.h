/* SPDX-License-Identifier: MIT */
/*
 * The running program as a file. A tarball has a loader and libraries of its own: there a launcher
 * (cmd/launcher) lies in the program's place and starts the loader, and /proc/self/exe names that.
 */
#ifndef PROF_LIB_BASE_PROGRAM_H
#define PROF_LIB_BASE_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Commands by name, as execvp() looks them up. */

/*
 * Finds the first file with that name in PATH, regardless of its permissions. Allocates nothing. A
 * name with a slash is found where it says.
 */
bool search_path_find(const char *name, char file[PATH_MAX]);

/* Files that are installed with the running program: beside it, or in ../lib/prof. */

/*
 * Returns the path of that file, which the caller frees; the place beside the program if it is
 * nowhere, NULL if the program has no folder.
 */
char *neighbour_path(const char *name);

#define SIGNAL_NAME_SIZE 32 /* including the terminator */

/*
 * Writes "SIGTERM" or "SIGRTMIN+3". Numbers are the kernel's; the C library reserves two of them.
 */
void signal_name(int number, char to[SIGNAL_NAME_SIZE]);

/* Places below the folder that holds all, which may lie anywhere. */
#define PROGRAM_PROF "bin/prof"
#define PROGRAM_VIEW "lib/prof/prof-view"
#define PROGRAM_BROWSE "lib/prof/prof-browse"
#define PROGRAM_LOADED "lib/prof/loaded/"
#define PROGRAM_LOADER "ld-prof.so"
/* Words before the program's file in the loader's command line. */
#define PROGRAM_LOADER_WORDS 6

/*
 * Variables that the loader would obey, but that are meant for recorded programs: the launcher
 * replaces their first letter by PROGRAM_HIDDEN, in place.
 */
#define PROGRAM_LOADER_VARIABLES \
	{ \
		"LD_PRELOAD=", "LD_AUDIT=" \
	}
#define PROGRAM_HIDDEN '_'

/* Path that starts the program again. Only program_begin() changes it. */
extern char program_again[];

/*
 * Tells where the program lies, by one of the places above, and undoes what the launcher did to
 * `environment`. To be called before threads run; without it, there is no launcher.
 */
void program_begin(const char *place, char **environment);

/*
 * Returns where in /proc/self/cmdline the program's own words begin, after the launcher's; the
 * first of them is the file that the loader runs, for the program's name.
 */
size_t program_first_word(void);

/* Returns true if a launcher started the program. */
bool program_is_launched(void);

/* Returns the program's path for the caller to free; NULL and errno if the kernel does not tell. */
char *program_path(void);

#endif
