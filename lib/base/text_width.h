/* SPDX-License-Identifier: MIT */
/* Text in columns of a terminal: letters of East Asia take two, accents none. */
#ifndef PROF_LIB_BASE_TEXT_WIDTH_H
#define PROF_LIB_BASE_TEXT_WIDTH_H

#include <stdbool.h>
#include <stddef.h>

/* The columns that a line takes, which is valid UTF-8 without control characters. */
size_t text_width(const char *text);
/*
 * Copies a line, cut to `width` columns (1 or more) by an ellipsis: at the end, or before the last
 * two fifths, where the end of a name says more. To be freed.
 */
char *text_cut(const char *text, size_t width, bool keeps_end);

#endif
