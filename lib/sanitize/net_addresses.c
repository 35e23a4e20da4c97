/* SPDX-License-Identifier: MIT */
#include "lib/sanitize/net_addresses.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("._-+", c));
}

/* Returns the size of "example.org": ends with letters behind a dot. */
static size_t domain_size(const char *text, size_t size)
{
	size_t end = 0, dot;

	while (end < size &&
	       (isalnum((unsigned char)text[end]) || text[end] == '-' || (text[end] == '.' && end)))
		end++;
	while (end && text[end - 1] == '.')
		end--;
	for (dot = end; dot && text[dot - 1] != '.'; dot--)
		;
	if (dot < 2 || end - dot < 2)
		return 0;
	for (size_t i = dot; i < end; i++) {
		if (!isalpha((unsigned char)text[i]))
			return 0;
	}
	return end;
}

size_t mail_address_size(const char *text, size_t size, size_t at)
{
	size_t end = at, domain;

	if (at && is_name_byte(text[at - 1]))
		return 0;
	while (end < size && is_name_byte(text[end]))
		end++;
	if (end == at || end == size || text[end] != '@')
		return 0;
	domain = domain_size(text + end + 1, size - end - 1);
	return domain ? end + 1 + domain - at : 0;
}

size_t ip_address_size(const char *text, size_t size, size_t at)
{
	size_t end = at;
	unsigned int first = 0;

	if (at && (is_name_byte(text[at - 1]) || (text[at - 1] & 0x80)))
		return 0;
	for (int part = 0; part < 4; part++) {
		unsigned int value = 0;
		size_t start;

		if (part && (end == size || text[end++] != '.'))
			return 0;
		for (start = end;
		     end < size && end - start < 3 && isdigit((unsigned char)text[end]); end++)
			value = value * 10 + (unsigned int)(text[end] - '0');
		if (end == start || value > 255)
			return 0;
		first = part ? first : value;
	}
	if (end < size && is_name_byte(text[end]) && text[end] != '.')
		return 0;
	return !first || first == 127 ? 0 : end - at;
}
