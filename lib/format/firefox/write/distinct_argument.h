/* SPDX-License-Identifier: MIT */
/* Which argument tells a command line from others of the same program. */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_DISTINCT_ARGUMENT_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_DISTINCT_ARGUMENT_H

#include <stddef.h>

#include "lib/base/strbuf.h"

/* Arguments, each terminated, the first of them the program; empty: not known. */
struct command_line {
	const char *list;
	size_t size;
};

/*
 * Sets texts[i] to what tells lines[i] from the others, shortened, "" where nothing does: the first
 * argument that at most half of them have, else one that not all have; options only where there is
 * no other. Names of files that a compiler writes its dependencies to are no better than options.
 */
void distinct_arguments(const struct command_line *lines, size_t count, struct strbuf *texts);

#endif
