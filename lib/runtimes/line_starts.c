/* SPDX-License-Identifier: MIT */
/* Places in a text → lines. */
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/runtimes/runtime.h"

/* Line terminators of JavaScript, besides \n and \r. */
#define LINE_SEPARATOR 0x2028
#define PARAGRAPH_SEPARATOR 0x2029

void line_starts_release(struct line_starts *lines)
{
	vec_release(&lines->rows);
	*lines = (struct line_starts){0};
}

void line_starts_add(struct line_starts *lines, unsigned int width, const void *text, size_t size)
{
	struct bytes b;

	if (width != 1 && width != 2)
		return;
	bytes_init(&b, text, size);
	while (bytes_left(&b) >= width && lines->length < INT32_MAX) {
		uint32_t c = width == 1 ? bytes_u8(&b) : bytes_u16(&b);
		size_t count = lines->rows.count;

		lines->length++;
		if (c == '\n' && lines->after_return && count)
			lines->rows.items[count - 1] = lines->length; /* \r\n is one end */
		else if (c == '\n' || c == '\r' || c == LINE_SEPARATOR || c == PARAGRAPH_SEPARATOR)
			vec_push(&lines->rows, lines->length);
		lines->after_return = c == '\r';
	}
}

/* Lines count from 1; 0: the place is none of the text. */
static uint32_t line_of(const struct line_starts *lines, int64_t place)
{
	if (place < 0 || place > lines->length)
		return 0;
	return 1 + (uint32_t)count_front(lines->rows.items, lines->rows.count, it, *it <= place);
}

void runtime_set_lines(struct managed_code *code, const struct line_starts *lines)
{
	code->first_line = line_of(lines, code->start);
	vec_clear(&code->lines);
	vec_for_each(&code->places, const struct managed_place *, it) {
		struct managed_line line = {it->unit, line_of(lines, it->place)};
		size_t count = code->lines.count;

		if (count && code->lines.items[count - 1].line == line.line)
			continue;
		if (count && code->lines.items[count - 1].unit == line.unit)
			code->lines.items[count - 1] = line;
		else
			vec_push(&code->lines, line);
	}
}
