/* SPDX-License-Identifier: MIT */
/* Numbers of JSON (RFC 8259) with digits after the point, exact to a thousandth of a millionth. */
#ifndef PROF_LIB_BASE_JSON_DECIMAL_H
#define PROF_LIB_BASE_JSON_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number in millionths: millionths + thousandths / 1000. Both have its sign. */
struct decimal {
	int64_t millionths;
	int32_t thousandths; /* of a millionth: -999 … 999 */
};

static inline bool decimal_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Parses a number without a sign and an exponent, and returns the place after it. NULL: it is no
 * such number, or is 9e12 or more.
 */
const char *decimal_parse_plain(const char *at, const char *end, struct decimal *value);
/* Parses any number of `size` bytes, which is known to be one. False: too long or too large. */
bool decimal_parse_scientific(const char *text, size_t size, struct decimal *value);

#endif
