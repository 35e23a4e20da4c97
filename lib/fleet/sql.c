/* SPDX-License-Identifier: MIT */
#include "lib/fleet/sql.h"

#include <string.h>

#define NAME_MAX_SIZE 64

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_harmless(char c, const char *others)
{
	return is_letter(c) || is_digit(c) || (c && strchr(others, c));
}

void sql_add_text(struct strbuf *sql, const char *text, size_t size)
{
	strbuf_addch(sql, '\'');
	for (size_t i = 0; i < size; i++) {
		if (is_harmless(text[i], " .-/:=@+"))
			strbuf_addch(sql, text[i]);
		else
			strbuf_addf(sql, "\\x%02X", (unsigned char)text[i]);
	}
	strbuf_addch(sql, '\'');
}

bool sql_is_name(const char *text)
{
	size_t size = strlen(text);

	if (!size || size > NAME_MAX_SIZE || !is_letter(*text))
		return false;
	for (size_t i = 0; i < size; i++) {
		if (!is_letter(text[i]) && !is_digit(text[i]))
			return false;
	}
	return true;
}
