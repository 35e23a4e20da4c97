/* SPDX-License-Identifier: MIT */
#ifndef PROF_CMD_OPTIONS_OPTION_EXPAND_H
#define PROF_CMD_OPTIONS_OPTION_EXPAND_H

#include "lib/base/strbuf.h"

/* Adds the text with `insert` in place of "@"; all lines but the first are indented. */
void option_expand(struct strbuf *out, const char *text, const char *insert, int indent);

#endif
