/* SPDX-License-Identifier: MIT */
/* Regular expressions for names of functions: POSIX extended ones. */
#ifndef PROF_LIB_QUERY_PATTERN_H
#define PROF_LIB_QUERY_PATTERN_H

#include <regex.h>

#include "lib/base/error.h"

/*
 * Compiles an expression, to be freed by regfree(). `option` is for messages, NULL for none.
 * -EINVAL: it is wrong, or C libraries differ in what it means: it must find the same in a page.
 */
int pattern_compile(regex_t *regex, const char *option, const char *expression, struct error *err);

#endif
