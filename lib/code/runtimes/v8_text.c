/* SPDX-License-Identifier: MIT */
#include "lib/base/bytes.h"
#include "lib/code/runtimes/v8.h"

#define REPLACEMENT 0xfffd

static bool is_surrogate(uint32_t c, uint32_t first)
{
	return c >= first && c < first + 0x400;
}

static void add_character(struct strbuf *text, uint32_t c)
{
	char out[4];
	size_t size = 0;

	if (!c || (c >= 0xd800 && c < 0xe000))
		c = REPLACEMENT;
	if (c < 0x80) {
		out[size++] = (char)c;
	} else {
		unsigned int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

		out[size++] = (char)((0xff00u >> (more + 1) & 0xff) | c >> 6 * more);
		while (more--)
			out[size++] = (char)(0x80 | (c >> 6 * more & 0x3f));
	}
	strbuf_add(text, out, size);
}

void v8_text(unsigned int width, const void *data, size_t size, struct strbuf *text)
{
	struct bytes b;
	uint32_t high = 0;

	if (width != 1 && width != 2)
		return;
	bytes_init(&b, data, size);
	while (bytes_left(&b) >= width) {
		uint32_t c = width == 1 ? bytes_u8(&b) : bytes_u16(&b);

		if (high && is_surrogate(c, 0xdc00)) {
			c = 0x10000 + ((high - 0xd800) << 10 | (c - 0xdc00));
			high = 0;
		}
		if (high)
			add_character(text, high);
		high = is_surrogate(c, 0xd800) ? c : 0;
		if (!high)
			add_character(text, c);
	}
	if (high)
		add_character(text, high);
}
