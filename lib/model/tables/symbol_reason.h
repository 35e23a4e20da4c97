/* SPDX-License-Identifier: MIT */
/*
 * Outcome of the search for a module's functions and lines, in words for people who wonder why
 * something has no name.
 */
#ifndef PROF_LIB_MODEL_TABLES_SYMBOL_REASON_H
#define PROF_LIB_MODEL_TABLES_SYMBOL_REASON_H

#include "lib/base/strbuf.h"
#include "lib/model/tables/modules.h"

/* A static phrase, in lower case and without a full stop. */
const char *symbol_reason_text(enum symbol_reason reason);
/* Is it the outcome of a search for the module's own file, of which nothing was found? */
bool symbol_reason_is_of_search(enum symbol_reason reason);
/*
 * Appends the reason with the build id: "no debug file for build id 1a2b…". Appends nothing for
 * SYMBOLS_FOUND.
 */
void module_describe_reason(const struct module *m, struct strbuf *text);

#endif
