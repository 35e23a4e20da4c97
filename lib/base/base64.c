/* SPDX-License-Identifier: MIT */
#include "lib/base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_digit(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

void base64_encode(const void *data, size_t size, char *out)
{
	const uint8_t *from = data;

	for (; size >= 3; size -= 3, from += 3, out += 4) {
		uint32_t bits = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];

		for (int i = 0; i < 4; i++)
			out[i] = digits[bits >> (18 - 6 * i) & 63];
	}
	if (size) {
		uint32_t bits = (uint32_t)from[0] << 16 | (size == 2 ? (uint32_t)from[1] << 8 : 0);

		out[0] = digits[bits >> 18];
		out[1] = digits[bits >> 12 & 63];
		out[2] = size == 2 ? digits[bits >> 6 & 63] : '=';
		out[3] = '=';
	}
}

bool base64_decode(const char *text, size_t size, unsigned char *out, size_t *out_size)
{
	unsigned int held = 0, padding = 0;
	uint32_t bits = 0;
	uint8_t values[256];

	memset(values, 0xff, sizeof(values));
	for (uint8_t i = 0; i < 64; i++)
		values[(uint8_t)digits[i]] = i;
	*out_size = 0;
	for (size_t i = 0; i < size; i++) {
		uint8_t value = values[(uint8_t)text[i]];

		if (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t')
			continue;
		padding += text[i] == '=';
		if ((value == 0xff || padding) && text[i] != '=')
			return false;
		bits = bits << 6 | (value & 63);
		if (++held < 4)
			continue;
		for (unsigned int k = 0; k + padding < 3; k++)
			out[(*out_size)++] = (unsigned char)(bits >> (16 - 8 * k));
		held = 0;
		bits = 0;
	}
	return !held && padding <= 2;
}
