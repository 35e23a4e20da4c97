/* SPDX-License-Identifier: MIT */
/*
 * Programs beside prof that have commands of it, so that others do not load their libraries: they
 * are built where these libraries are.
 */
#ifndef PROF_CMD_RUN_NEIGHBOUR_PROGRAM_H
#define PROF_CMD_RUN_NEIGHBOUR_PROGRAM_H

#include <stdbool.h>

struct neighbour_program {
	const char *name;
	const char *needs; /* libraries that it is built with, and a verb, for messages */
};

extern const struct neighbour_program program_browse, program_view;

bool neighbour_program_is_installed(const struct neighbour_program *p);
/*
 * Replaces this program by that one, with these words after its name. Returns only on failure, the
 * exit status, with a message of the command.
 */
int neighbour_program_run(const struct neighbour_program *p, const char *command, int argc,
			  char **argv);

/* Commands that are in a program of their own beside prof, so that others do not load its
 * libraries. */

/* Replaces this program by prof-view. argv[0] is the command's name. Returns only on failure. */
int view_program_run(int argc, char **argv);
/* Shows a file in a browser until the user ends that. */
void view_program_open(const char *path);

#endif
