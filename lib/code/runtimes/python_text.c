/* SPDX-License-Identifier: MIT */
#include "lib/base/bytes.h"
#include "lib/code/runtimes/python.h"

#define REPLACEMENT 0xfffd

static void add_character(struct strbuf *text, uint32_t c)
{
	char out[4];
	size_t size = 0;

	/* A surrogate stands for a byte of a file name that was no UTF-8. */
	if (!c || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = REPLACEMENT;
	if (c < 0x80) {
		out[size++] = (char)c;
	} else if (c < 0x800) {
		out[size++] = (char)(0xc0 | c >> 6);
		out[size++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		out[size++] = (char)(0xe0 | c >> 12);
		out[size++] = (char)(0x80 | (c >> 6 & 0x3f));
		out[size++] = (char)(0x80 | (c & 0x3f));
	} else {
		out[size++] = (char)(0xf0 | c >> 18);
		out[size++] = (char)(0x80 | (c >> 12 & 0x3f));
		out[size++] = (char)(0x80 | (c >> 6 & 0x3f));
		out[size++] = (char)(0x80 | (c & 0x3f));
	}
	strbuf_add(text, out, size);
}

void python_text(unsigned int width, const void *data, size_t size, struct strbuf *text)
{
	struct bytes b;

	if (width != 1 && width != 2 && width != 4)
		return;
	bytes_init(&b, data, size);
	while (bytes_left(&b) >= width)
		add_character(text, width == 1	 ? bytes_u8(&b)
				    : width == 2 ? bytes_u16(&b)
						 : bytes_u32(&b));
}
