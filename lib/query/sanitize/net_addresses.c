/* SPDX-License-Identifier: MIT */
#include "lib/query/sanitize/net_addresses.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("._-+", c));
}

/* Returns the size of "example.org": ends with letters after a dot. */
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

static size_t ipv4_size(const char *text, size_t size, size_t at)
{
	size_t end = at;
	unsigned int first = 0;

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

struct ipv6 {
	size_t end;
	unsigned int groups;
	bool has_gap; /* "::" */
	bool has_colon; /* between two groups */
	bool has_number; /* a group begins with a digit */
};

/* Takes groups of hexadecimal digits as long as they follow one another. */
static void take_groups(struct ipv6 *a, const char *text, size_t size)
{
	for (bool goes_on = true; goes_on;) {
		size_t start = a->end;

		while (a->end < size && isxdigit((unsigned char)text[a->end]))
			a->end++;
		if (a->end == start)
			return;
		a->groups += a->end - start > 4 ? 9 : 1;
		a->has_number |= isdigit((unsigned char)text[start]) != 0;
		goes_on = a->end + 1 < size && text[a->end] == ':';
		if (goes_on && !a->has_gap && text[a->end + 1] == ':') {
			a->has_gap = true;
			a->end += 2;
		} else if (goes_on && isxdigit((unsigned char)text[a->end + 1])) {
			a->has_colon = true;
			a->end++;
		} else {
			goes_on = false;
		}
	}
}

/* True for the first group of addresses that are valid in one network. */
static bool is_local_group(const char *text)
{
	return strncasecmp(text, "fe80::", 6) == 0 ||
	       (tolower((unsigned char)text[0]) == 'f' && strchr("cdCD", text[1]) &&
		(isdigit((unsigned char)text[2]) || isdigit((unsigned char)text[3])));
}

/* Names of code such as "a::b" look alike: no part of theirs begins with a digit. */
static size_t ipv6_size(const char *text, size_t size, size_t at)
{
	struct ipv6 a = {.end = at};
	size_t left;

	if (size - at < 3 || (at && text[at - 1] == ':'))
		return 0;
	if (text[at] == ':' && text[at + 1] == ':') {
		a.has_gap = true;
		a.end += 2;
	}
	take_groups(&a, text, size);
	left = size - a.end;
	if (!a.groups || a.groups > 8 || a.has_gap == (a.groups == 8) ||
	    (left && is_name_byte(text[a.end]) && text[a.end] != '.') ||
	    (left > 1 && text[a.end] == '.' && isalnum((unsigned char)text[a.end + 1])) ||
	    (left > 1 && text[a.end] == ':' && text[a.end + 1] == ':') ||
	    (a.end - at == 3 && memcmp(text + at, "::1", 3) == 0))
		return 0;
	return a.has_number || a.has_colon || (size - at > 6 && is_local_group(text + at))
		       ? a.end - at
		       : 0;
}

size_t ip_address_size(const char *text, size_t size, size_t at)
{
	size_t found;

	if (at && (is_name_byte(text[at - 1]) || (text[at - 1] & 0x80)))
		return 0;
	found = ipv4_size(text, size, at);
	return found ? found : ipv6_size(text, size, at);
}
