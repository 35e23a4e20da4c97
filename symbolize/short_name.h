/* SPDX-License-Identifier: MIT */
/*
 * The one style of function names: with scopes and template arguments, without parameters. Debug
 * information often knows no more about inlined functions.
 */
#ifndef PROF_SYMBOLIZE_SHORT_NAME_H
#define PROF_SYMBOLIZE_SHORT_NAME_H

#include <stddef.h>

#include "lib/base/strbuf.h"

/*
 * Appends a demangled name, which has no parameters itself, without those of enclosing functions
 * and lambdas: "f(int)::{lambda(char)#1}::operator()" → "f::{lambda#1}::operator()".
 */
void short_name_add(struct strbuf *out, const char *name, size_t size);

#endif
