/* SPDX-License-Identifier: MIT */
/* Programs that run beside prof: companions for some commands, viewers, and the pager. */
#pragma once

#include "lib/base/base.h"

/*
 * Companion programs of prof, which implement some of its commands, so that prof itself does not
 * load their libraries. They are built only if these libraries are installed.
 */

struct companion_program {
	const char *name;
	const char *needs; /* required libraries with a verb, for messages */
};

extern const struct companion_program program_browse, program_view;

bool companion_program_is_installed(const struct companion_program *p);
/*
 * Executes the companion program with these words after its name. Returns only on failure, with the
 * exit status, after printing a message of the command.
 */
int companion_program_run(const struct companion_program *p, const char *command, int argc,
			  char **argv);

/* The commands of prof-view. */

/* Executes prof-view. argv[0] is the command's name. Returns only on failure. */
int view_program_run(int argc, char **argv);
/* Shows a file in a browser until the user ends it. */
void view_program_open(const char *path);

/* Prints text for users on standard output. */

/* Returns the width for text: that of the terminal, or 120 without one. */
size_t pager_columns(void);
/*
 * Prints the text. On a terminal, runs $PAGER or less(1), which exits at once if the text fits a
 * page. Only the invoking user gets a pager, which could run commands as root.
 */
void pager_print(const char *text, size_t size);
