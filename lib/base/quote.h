/* SPDX-License-Identifier: MIT */
/* Command lines as typed into a shell. */
#ifndef PROF_LIB_BASE_QUOTE_H
#define PROF_LIB_BASE_QUOTE_H

#include "lib/base/strbuf.h"

/* Appends the word, quoted if a shell needs that; control characters become "$'\n'". */
void quote_word(struct strbuf *out, const char *word, size_t size);
/* Appends the words of a list (`size` bytes, each terminated), with blanks between them. */
void quote_list(struct strbuf *out, const char *list, size_t size);

#endif
