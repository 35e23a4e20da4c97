/* SPDX-License-Identifier: MIT */
/*
 * What became of the search for a module's functions and lines: one outcome a module, for those who
 * look at a profile and ask why something has no name.
 */
#ifndef PROF_LIB_PROFILE_SYMBOL_REASON_H
#define PROF_LIB_PROFILE_SYMBOL_REASON_H

#include "lib/base/strbuf.h"
#include "lib/profile/modules.h"

/* Lives as long as the program; a phrase without a capital letter and a full stop. */
const char *symbol_reason_text(enum symbol_reason reason);
/*
 * Appends the same, with the build id that was looked for: "no debug file for build id 1a2b…".
 * Nothing about what has been found.
 */
void module_describe_reason(const struct module *m, struct strbuf *text);

#endif
