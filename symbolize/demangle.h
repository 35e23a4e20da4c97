/* SPDX-License-Identifier: MIT */
/* Readable forms of the names that compilers give C++ and Rust functions. */
#ifndef PROF_SYMBOLIZE_DEMANGLE_H
#define PROF_SYMBOLIZE_DEMANGLE_H

#include <stdbool.h>

#include "lib/base/strbuf.h"

/*
 * "_ZN3foo3barEi" → "foo::bar": without return type and parameters, and without what tells copies
 * of a function apart; Rust without its hash. Replaces what `readable` holds. False
 * where the name is not mangled, damaged, or so long (or becomes so long) that it is better left
 * alone.
 */
bool demangle(const char *name, struct strbuf *readable);

#endif
