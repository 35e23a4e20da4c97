/* SPDX-License-Identifier: MIT */
/* Names and places of functions, without what changes from build to build. */
#ifndef PROF_LIB_QUERY_BUILD_NAME_H
#define PROF_LIB_QUERY_BUILD_NAME_H

#include <stddef.h>

/*
 * The size of the part of a name that builds have in common: "parse" of "parse.constprop.0.cold",
 * "parse.llvm.123", "parse [clone .isra.0]", "parse::h0123456789abcdef". Never 0 for a name that is
 * not empty.
 */
size_t build_name_size(const char *name);
/*
 * Returns the place that distinguishes functions of one name: the module, or the name of a script,
 * without its folder. Part of either; "" if both are unknown.
 */
const char *build_place(const char *module, const char *file);

#endif
