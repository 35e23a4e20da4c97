/* SPDX-License-Identifier: MIT */
/*
 * Demangles names of functions in C++, Rust, OCaml, Haskell, and in Python compiled by Cython or
 * mypyc.
 */
#ifndef PROF_SYMBOLIZE_DEMANGLE_H
#define PROF_SYMBOLIZE_DEMANGLE_H

#include <stdbool.h>

#include "lib/base/strbuf.h"

/*
 * "_ZN3foo3barEi" → "foo::bar", "__pyx_pw_4cmod_3Box_1run" → "cmod.Box.run": drops return type,
 * parameters, suffixes of a function's copies, Rust's hash, OCaml's stamp and GHC's package.
 * Replaces the content of `readable`. False if the name is not mangled, is damaged, or is too long
 * before or after.
 */
bool demangle(const char *name, struct strbuf *readable);

#endif
