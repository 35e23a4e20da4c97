/* SPDX-License-Identifier: MIT */
/* Names of functions, without what a compiler adds to them and changes from build to build. */
#ifndef PROF_LIB_QUERY_BUILD_NAME_H
#define PROF_LIB_QUERY_BUILD_NAME_H

#include <stddef.h>

/*
 * The size of the part of a name that builds have in common: "parse" of "parse.constprop.0.cold",
 * "parse.llvm.123", "parse [clone .isra.0]", "parse::h0123456789abcdef". Never 0 for a name that is
 * not empty.
 */
size_t build_name_size(const char *name);

#endif
