/* SPDX-License-Identifier: MIT */
/* Command lines as one would type them into a shell. */
#ifndef PROF_LIB_BASE_QUOTE_H
#define PROF_LIB_BASE_QUOTE_H

#include "lib/base/strbuf.h"

/* Appends the word, quoted where a shell needs that; control characters as "$'\n'". */
void quote_word(struct strbuf *out, const char *word, size_t size);
/* Appends the words of a list (`size` bytes, each terminated), with blanks between them. */
void quote_list(struct strbuf *out, const char *list, size_t size);

#endif
