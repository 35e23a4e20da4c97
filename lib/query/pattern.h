/* SPDX-License-Identifier: MIT */
/* POSIX extended regular expressions for names of functions. */
#ifndef PROF_LIB_QUERY_PATTERN_H
#define PROF_LIB_QUERY_PATTERN_H

#include <regex.h>

#include "lib/base/error.h"

/*
 * Compiles an expression, to be freed with regfree(). `option` is for messages, NULL for none.
 * -EINVAL: invalid, or interpreted differently by C libraries: a page must find the same.
 */
int pattern_compile(regex_t *regex, const char *option, const char *expression, struct error *err);

#endif
