/* SPDX-License-Identifier: MIT */
/*
 * Demangles names of functions in C++, Rust, D, OCaml, Haskell, Swift, Free Pascal, GNU
 * Prolog and of Ada's libraries, and of those in Python that Cython or mypyc compile.
 */
#pragma once

#include "lib/base/base.h"

/*
 * "_ZN3foo3barEi" → "foo::bar", "__pyx_pw_4cmod_3Box_1run" → "cmod.Box.run": drops return type,
 * parameters, suffixes of a function's copies, Rust's hash, OCaml's stamp and GHC's package. Keeps
 * the part before the first unreadable one: "foo::bar<int, …>". Replaces the content of `readable`.
 * Returns false if the name is not mangled, is damaged, or is too long before or after.
 */
bool demangle(const char *name, struct strbuf *readable);

/*
 * For demangle(): names of all languages but C++, Rust and D. `readable` is undefined if it returns
 * false.
 */
bool demangle_others(const char *name, size_t size, struct strbuf *readable);

/* Appends GNAT's "ada_main__work__fib.6" as "Ada_Main.Work.Fib". */
void demangle_ada(const char *name, struct strbuf *readable);
