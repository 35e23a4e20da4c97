/* SPDX-License-Identifier: MIT */
#ifndef PROF_LIB_LIVE_PROCESS_PATH_NAMES_H
#define PROF_LIB_LIVE_PROCESS_PATH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/strbuf.h"

/*
 * Appends a path to `path`, which is empty: from its names, innermost first, each terminated. With
 * `is_cut`, outer ones are missing, and the path begins with an ellipsis.
 */
void path_names_join(struct strbuf *path, const char *names, size_t size, bool is_cut);

#endif
