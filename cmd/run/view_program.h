/* SPDX-License-Identifier: MIT */
/* Commands that are in a program of their own beside prof, so that others do not load its
 * libraries. */
#ifndef PROF_CMD_RUN_VIEW_PROGRAM_H
#define PROF_CMD_RUN_VIEW_PROGRAM_H

/* Replaces this program by prof-view. argv[0] is the command's name. Returns only on failure. */
int view_program_run(int argc, char **argv);
/* Shows a file in a browser until the user ends that. */
void view_program_open(const char *path);

#endif
