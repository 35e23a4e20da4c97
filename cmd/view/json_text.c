/* SPDX-License-Identifier: MIT */
#include "cmd/view/json_text.h"

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/json/writer.h"

static void add_escaped(struct strbuf *out, const char *text, size_t size)
{
	size_t done = 0;

	for (size_t at = 0; at < size; at++) {
		unsigned char c = (unsigned char)text[at];

		if (c >= ' ' && c != '"' && c != '\\')
			continue;
		strbuf_add(out, text + done, at - done);
		if (c < ' ')
			strbuf_addf(out, "\\u%04x", c);
		else
			strbuf_addf(out, "\\%c", c);
		done = at + 1;
	}
	strbuf_add(out, text + done, size - done);
}

void json_text_string(struct strbuf *out, const char *text)
{
	_cleanup_(strbuf_release) struct strbuf clean = {0};
	size_t size = strlen(text);

	strbuf_addch(out, '"');
	if (jsonw_is_clean(text, size)) {
		add_escaped(out, text, size);
	} else {
		jsonw_clean(&clean, text, size);
		add_escaped(out, strbuf_text(&clean), clean.size);
	}
	strbuf_addch(out, '"');
}

void json_text_next(struct strbuf *out)
{
	if (out->size && out->text[out->size - 1] != '{' && out->text[out->size - 1] != '[')
		strbuf_addch(out, ',');
}

void json_text_key(struct strbuf *out, const char *key)
{
	json_text_next(out);
	strbuf_addch(out, '"');
	strbuf_add(out, key, strlen(key));
	strbuf_add(out, "\":", 2);
}

void json_text_u64(struct strbuf *out, uint64_t value)
{
	char text[32];

	strbuf_add(out, text, (size_t)(jsonw_format_u64(text, value) - text));
}

void json_text_hex(struct strbuf *out, uint64_t value)
{
	static const char digits[] = "0123456789abcdef";
	char text[20], *at = text + sizeof(text);

	*--at = '"';
	do {
		*--at = digits[value & 15];
		value >>= 4;
	} while (value);
	strbuf_add(out, "\"0x", 3);
	strbuf_add(out, at, (size_t)(text + sizeof(text) - at));
}
