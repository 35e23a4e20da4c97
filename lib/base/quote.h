/* SPDX-License-Identifier: MIT */
/* Quotes strings for shell command lines and URLs. */
#pragma once

#include "lib/base/base.h"

/* Appends the word, quoted if a shell needs that; control characters become "$'\n'". */
void quote_word(struct strbuf *out, const char *word, size_t size);
/* Appends a file's path likewise, so that no command takes it for an option. */
void quote_path(struct strbuf *out, const char *path);
/* Appends the words of a list (`size` bytes, each terminated), separated by blanks. */
void quote_list(struct strbuf *out, const char *list, size_t size);
/* Appends the text escaped for a URL: all but unreserved characters (RFC 3986) become %XX. */
void quote_url(struct strbuf *out, const char *text);
/* Decodes %XX; the caller frees. NULL for an invalid escape or a NUL byte. */
char *unquote_url(const char *text, size_t size);
/* Does the same, after trimming blanks at both ends. */
char *unquote_url_trimmed(const char *text, size_t size);

/* Base64 with padding (RFC 4648). */

/* Number of characters that encode `size` bytes. */
#define BASE64_SIZE(size) (((size) + 2) / 3 * 4)

/* Returns the value of a digit, 0 to 63; -1: not a digit. */
int base64_digit(char c);
/* Writes BASE64_SIZE(size) characters, without a terminator. */
void base64_encode(const void *data, size_t size, char *out);
/*
 * Decodes text, ignoring white space; `out` has room for 3/4 of its size. Returns false if it is
 * not base64.
 */
bool base64_decode(const char *text, size_t size, unsigned char *out, size_t *out_size);
