/* SPDX-License-Identifier: MIT */
/* Texts as parts of command lines, as typed into a shell, and of URLs. */
#ifndef PROF_LIB_BASE_QUOTE_H
#define PROF_LIB_BASE_QUOTE_H

#include "lib/base/strbuf.h"

/* Appends the word, quoted if a shell needs that; control characters become "$'\n'". */
void quote_word(struct strbuf *out, const char *word, size_t size);
/* Appends the words of a list (`size` bytes, each terminated), with blanks between them. */
void quote_list(struct strbuf *out, const char *list, size_t size);
/* Appends the text as a part of a URL: all but unreserved characters (RFC 3986) become %XX. */
void quote_url(struct strbuf *out, const char *text);
/* Decodes %XX; the caller frees. NULL: that is wrong, or a byte is 0. */
char *unquote_url(const char *text, size_t size);
/* Decodes the text without the blanks around it, likewise. */
char *unquote_url_trimmed(const char *text, size_t size);

#endif
