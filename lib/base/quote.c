/* SPDX-License-Identifier: MIT */
#include "lib/base/quote.h"

/* True for characters that are special to no shell. */
static bool is_plain(unsigned char c)
{
	return isalnum(c) || (c && strchr("@%+=:,./_-", c));
}

static bool is_control(unsigned char c)
{
	return c < 0x20 || c == 0x7f;
}

static void add_escaped(struct strbuf *out, unsigned char c)
{
	if (c == '\n')
		strbuf_adds(out, "\\n");
	else if (c == '\t')
		strbuf_adds(out, "\\t");
	else if (is_control(c))
		strbuf_addf(out, "\\x%02x", c);
	else if (c == '\'' || c == '\\')
		strbuf_addf(out, "\\%c", c);
	else
		strbuf_addch(out, (char)c);
}

void quote_word(struct strbuf *out, const char *word, size_t size)
{
	bool all_plain = size, has_control = false;

	for (size_t i = 0; i < size; i++) {
		all_plain &= is_plain((unsigned char)word[i]);
		has_control |= is_control((unsigned char)word[i]);
	}
	if (all_plain) {
		strbuf_add(out, word, size);
		return;
	}
	strbuf_adds(out, has_control ? "$'" : "'");
	for (size_t i = 0; i < size; i++) {
		if (has_control)
			add_escaped(out, (unsigned char)word[i]);
		else if (word[i] == '\'')
			strbuf_adds(out, "'\\''");
		else
			strbuf_addch(out, word[i]);
	}
	strbuf_addch(out, '\'');
}

void quote_path(struct strbuf *out, const char *path)
{
	if (*path == '-')
		strbuf_adds(out, "./");
	quote_word(out, path, strlen(path));
}

void quote_list(struct strbuf *out, const char *list, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t length = strnlen(list + at, size - at);

		if (at)
			strbuf_addch(out, ' ');
		quote_word(out, list + at, length);
		at += length + 1;
	}
}

void quote_url(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~",
			   *text))
			strbuf_addch(out, *text);
		else
			strbuf_addf(out, "%%%02X", (unsigned char)*text);
	}
}

char *unquote_url(const char *text, size_t size)
{
	char *out = xmalloc(size + 1), *to = out;
	const char *end = text + size;

	while (text < end) {
		const char *digits = text + 1;
		uint64_t byte = (unsigned char)*text;

		if (*text == '%' && (end - text < 3 || !text_scan_hex(&digits, text + 3, &byte) ||
				     digits != text + 3))
			byte = 0;
		if (!byte) {
			free(out);
			return NULL;
		}
		text += *text == '%' ? 3 : 1;
		*to++ = (char)byte;
	}
	*to = '\0';
	return out;
}

char *unquote_url_trimmed(const char *text, size_t size)
{
	while (size && isblank((unsigned char)text[size - 1]))
		size--;
	for (; size && isblank((unsigned char)*text); size--)
		text++;
	return unquote_url(text, size);
}

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
