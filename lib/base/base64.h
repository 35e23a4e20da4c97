/* SPDX-License-Identifier: MIT */
/* Base64 with padding (RFC 4648). */
#pragma once

#include "lib/base/base.h"

/* Number of characters that encode `size` bytes. */
#define BASE64_SIZE(size) (((size) + 2) / 3 * 4)

/* Returns the value of a digit, 0 to 63; -1 if it is none. */
int base64_digit(char c);
/* Writes BASE64_SIZE(size) characters, without a terminator. */
void base64_encode(const void *data, size_t size, char *out);
/*
 * Decodes text, ignoring white space; `out` has room for 3/4 of its size. Returns false if it is
 * not base64.
 */
bool base64_decode(const char *text, size_t size, unsigned char *out, size_t *out_size);
