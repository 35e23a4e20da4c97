/* SPDX-License-Identifier: MIT */
/*
 * Titles of rows. Processes of the same name get the first argument in which they differ ("cc1
 * parse.c"), threads of the same name within a process their tids ("worker 1235").
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_TITLES_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_TITLES_H

#include <stddef.h>

#include "lib/base/strbuf.h"
#include "lib/format/firefox/write/firefox_rows.h"

/* Finds the argument that distinguishes command lines of the same program. */

/* Arguments, each terminated, the program first; empty: unknown. */
struct command_line {
	const char *list;
	size_t size;
};

/*
 * Sets texts[i] to the shortened argument that distinguishes lines[i], "" if there is none: the
 * first argument that at most half of the lines contain, else the first that not all contain.
 * Options and names of compilers' dependency files are the last choice.
 */
void distinct_arguments(const struct command_line *lines, size_t count, struct strbuf *texts);

/* Sets the titles of rows of threads. Call before views are added. */
void title_rows(struct firefox_rows *r, struct file_strings *strings);

#endif
