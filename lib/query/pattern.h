/* SPDX-License-Identifier: MIT */
/* POSIX extended regular expressions for names of functions. */
#pragma once

#include <regex.h>

#include "lib/base/base.h"

/*
 * Compiles an expression, which the caller frees by regfree(). `option` is for messages; NULL:
 * none. Returns -EINVAL if the expression is invalid, or if C libraries interpret it differently: a
 * page must produce the same matches.
 */
int pattern_compile(regex_t *regex, const char *option, const char *expression, struct error *err);

/* Returns the expression that matches this name alone; the caller frees it. */
char *pattern_of_name(const char *name);
