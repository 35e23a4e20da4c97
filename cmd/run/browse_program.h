/* SPDX-License-Identifier: MIT */
/* Views in the terminal, which are in a program of their own beside prof, prof-browse. */
#ifndef PROF_CMD_RUN_BROWSE_PROGRAM_H
#define PROF_CMD_RUN_BROWSE_PROGRAM_H

#include <stdbool.h>

bool browse_program_is_installed(void);
/* Replaces this program by prof-browse with these words after its name. Returns only on failure. */
int browse_program_run(const char *command, int argc, char **argv);

#endif
