/* SPDX-License-Identifier: MIT */
#include "lib/base/text_width.h"

#include <stdint.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define ELLIPSIS "…"

struct range {
	uint32_t first, last;
};

static bool has(const struct range *ranges, size_t count, uint32_t point)
{
	for (size_t i = 0; i < count; i++) {
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	}
	return false;
}

/* Blocks of Unicode 15. */
static size_t width_of_point(uint32_t point)
{
	static const struct range none[] = {{0x0300, 0x036f}, {0x0483, 0x0489},	 {0x0591, 0x05bd},
					    {0x064b, 0x065f}, {0x1ab0, 0x1aff},	 {0x1dc0, 0x1dff},
					    {0x200b, 0x200f}, {0x20d0, 0x20ff},	 {0xfe00, 0xfe0f},
					    {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
	static const struct range two[] = {
		{0x1100, 0x115f},   {0x2e80, 0x303e},	{0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
		{0xa960, 0xa97f},   {0xac00, 0xd7a3},	{0xf900, 0xfaff},   {0xfe30, 0xfe6f},
		{0xff00, 0xff60},   {0xffe0, 0xffe6},	{0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff},
		{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff},
		{0x20000, 0x3fffd}};

	if (point < none[0].first || has(none, sizeof(none) / sizeof(none[0]), point))
		return point < none[0].first;
	return 1 + has(two, sizeof(two) / sizeof(two[0]), point);
}

/* Bytes of the character at text, and the columns that it takes. */
static size_t step(const char *text, size_t *width)
{
	size_t size = text_utf8_length(text, strlen(text));

	*width = size ? width_of_point(text_code_point(text, size)) : 1;
	return size ? size : 1;
}

size_t text_width(const char *text)
{
	size_t total = 0, width;

	for (; *text; total += width)
		text += step(text, &width);
	return total;
}

char *text_cut(const char *text, size_t width, bool keeps_end)
{
	size_t all = text_width(text), end = keeps_end ? (width - 1) * 2 / 5 : 0;
	size_t done = 0, own, size = step(text, &own);
	struct strbuf out = {0};

	if (all <= width)
		return xstrdup(text);
	for (; *text && done + own <= width - 1 - end; size = step(text, &own)) {
		strbuf_add(&out, text, size);
		text += size;
		done += own;
	}
	strbuf_adds(&out, ELLIPSIS);
	for (; *text && all - done > end; size = step(text, &own)) {
		text += size;
		done += own;
	}
	strbuf_adds(&out, text);
	return strbuf_take(&out);
}
