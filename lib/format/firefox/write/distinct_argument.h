/* SPDX-License-Identifier: MIT */
/* Finds the argument that distinguishes a command line from others of the same program. */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_DISTINCT_ARGUMENT_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_DISTINCT_ARGUMENT_H

#include <stddef.h>

#include "lib/base/strbuf.h"

/* Arguments, each terminated, the program first; empty: unknown. */
struct command_line {
	const char *list;
	size_t size;
};

/*
 * Sets texts[i] to what distinguishes lines[i], shortened; "" if nothing does. This is the first
 * argument that at most half of the lines contain, else the first that not all contain. Options,
 * and names of files that a compiler writes dependencies to, are the last choice.
 */
void distinct_arguments(const struct command_line *lines, size_t count, struct strbuf *texts);

#endif
