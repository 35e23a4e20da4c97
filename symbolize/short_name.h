/* SPDX-License-Identifier: MIT */
/*
 * The one style of names of functions: where they are declared, with template arguments, and
 * without parameters. Debug information often knows no more of what is inlined.
 */
#ifndef PROF_SYMBOLIZE_SHORT_NAME_H
#define PROF_SYMBOLIZE_SHORT_NAME_H

#include <stddef.h>

#include "lib/base/strbuf.h"

/*
 * Appends a demangled name that has no parameters itself, without those of the functions and
 * lambdas around it: "f(int)::{lambda(char)#1}::operator()" → "f::{lambda#1}::operator()".
 */
void short_name_add(struct strbuf *out, const char *name, size_t size);

#endif
