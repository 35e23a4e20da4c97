/* SPDX-License-Identifier: MIT */
/* Text for people, on standard output. */
#ifndef PROF_CMD_RUN_PAGER_H
#define PROF_CMD_RUN_PAGER_H

#include <stddef.h>

/* Columns of the terminal that standard output is; 0: it is none. */
size_t pager_width(void);
/* Columns that text is made for: those of the terminal, or 120 where there is none. */
size_t pager_columns(void);
/*
 * Prints; where standard output is a terminal, by $PAGER, or less(1), which ends at once where a
 * page is enough. Never for another user than the invoking one: it could run commands as root.
 */
void pager_print(const char *text, size_t size);

#endif
