/* SPDX-License-Identifier: MIT */
/* Text for people, on standard output. */
#ifndef PROF_CMD_RUN_PAGER_H
#define PROF_CMD_RUN_PAGER_H

#include <stddef.h>

/* Width of the terminal on standard output, 0 if it is not a terminal. */
size_t pager_width(void);
/* Width for text: that of the terminal, or 120 without one. */
size_t pager_columns(void);
/*
 * Prints; where standard output is a terminal, by $PAGER, or less(1), which ends at once where a
 * page is enough. Never for another user than the invoking one: it could run commands as root.
 */
void pager_print(const char *text, size_t size);

#endif
