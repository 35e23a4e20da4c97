/* SPDX-License-Identifier: MIT */
/* JSON numbers (RFC 8259) with decimal places, exact to 1e-9. */
#pragma once

#include "lib/base/base.h"

/* A number in millionths: millionths + thousandths / 1000. Both members have its sign. */
struct decimal {
	int64_t millionths;
	int32_t thousandths; /* thousandths of a millionth: -999 to 999 */
};

static inline bool decimal_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Parses a number without sign and exponent. Returns the position after it, or NULL if there is no
 * such number or it is 9e12 or more.
 */
const char *decimal_parse_plain(const char *at, const char *end, struct decimal *value);
/* Parses a valid number of `size` bytes. Returns false if it is too long or too large. */
bool decimal_parse_scientific(const char *text, size_t size, struct decimal *value);
