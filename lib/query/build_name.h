/* SPDX-License-Identifier: MIT */
/* Names and places of functions without the parts that change from build to build. */
#pragma once

#include "lib/base/base.h"

/*
 * Returns the size of the part of a name that is stable across builds: "parse" of
 * "parse.constprop.0.cold", "parse.llvm.123", "parse [clone .isra.0]", "parse::h0123456789abcdef".
 * Never 0 for a nonempty name.
 */
size_t build_name_size(const char *name);
/*
 * Returns the place that distinguishes functions of the same name: the module, or the name of a
 * script, without its folder. Points into either; "" if both are unknown.
 */
const char *build_place(const char *module, const char *file);
