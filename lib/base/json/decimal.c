/* SPDX-License-Identifier: MIT */
#include "lib/base/json/decimal.h"

#include <math.h>

#define DECIMAL_MAX 9000000000000ull
#define DECIMAL_TEXT_MAX 64

bool decimal_parse_scientific(const char *text, size_t size, struct decimal *value)
{
	char terminated[DECIMAL_TEXT_MAX];
	double number, whole, rest;

	if (size >= sizeof(terminated))
		return false;
	memcpy(terminated, text, size);
	terminated[size] = '\0';
	number = strtod(terminated, NULL);
	if (!(fabs(number) < (double)DECIMAL_MAX))
		return false;
	rest = modf(number * 1e6, &whole);
	value->millionths = (int64_t)whole;
	value->thousandths = (int32_t)(rest * 1000);
	return true;
}

/* Parses digits after a point, to nine decimal places. Returns the position after them. */
static const char *parse_fraction(const char *at, const char *end, uint64_t *fraction)
{
	static const uint32_t units[] = {1000000000, 100000000, 10000000, 1000000, 100000,
					 10000,	     1000,	100,	  10,	   1};
	size_t count = 0;

	for (; at < end && decimal_is_digit(*at); at++) {
		if (count == 9)
			continue;
		*fraction = *fraction * 10 + (uint64_t)(*at - '0');
		count++;
	}
	*fraction *= units[count];
	return at;
}

const char *decimal_parse_plain(const char *at, const char *end, struct decimal *value)
{
	const char *first = at;
	uint64_t whole = 0, fraction = 0;

	for (; at < end && decimal_is_digit(*at); at++) {
		whole = whole * 10 + (uint64_t)(*at - '0');
		if (whole >= DECIMAL_MAX)
			return NULL;
	}
	if (at == first || (at - first > 1 && *first == '0'))
		return NULL;
	if (at < end && *at == '.') {
		first = at + 1;
		at = parse_fraction(first, end, &fraction);
		if (at == first)
			return NULL;
	}
	if (at < end && (*at | 0x20) == 'e')
		return NULL;
	value->millionths = (int64_t)(whole * 1000000 + fraction / 1000);
	value->thousandths = (int32_t)(fraction % 1000);
	return at;
}
