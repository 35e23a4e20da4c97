/* SPDX-License-Identifier: MIT */
/* Prints text for users on standard output. */
#pragma once

#include "lib/base/base.h"

/* Returns the width for text: that of the terminal, or 120 without one. */
size_t pager_columns(void);
/*
 * Prints the text. On a terminal, runs $PAGER or less(1), which exits at once if the text fits a
 * page. Only the invoking user gets a pager, which could run commands as root.
 */
void pager_print(const char *text, size_t size);
