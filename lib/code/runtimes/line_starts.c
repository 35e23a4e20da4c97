/* SPDX-License-Identifier: MIT */
/* Places in a text → lines. */
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/text.h"
#include "lib/code/runtimes/runtime.h"

/* Line terminators of JavaScript, besides \n and \r. */
#define LINE_SEPARATOR 0x2028
#define PARAGRAPH_SEPARATOR 0x2029

void line_starts_release(struct line_starts *lines)
{
	vec_release(&lines->rows);
	*lines = (struct line_starts){0};
}

static void add_character(struct line_starts *lines, uint32_t c)
{
	size_t count = lines->rows.count;

	if (lines->length >= INT32_MAX)
		return;
	lines->length++;
	if (c == '\n' && lines->after_return && count)
		lines->rows.items[count - 1] = lines->length; /* \r\n is one end */
	else if (c == '\n' || c == '\r' || c == LINE_SEPARATOR || c == PARAGRAPH_SEPARATOR)
		vec_push(&lines->rows, lines->length);
	lines->after_return = c == '\r';
}

void line_starts_add(struct line_starts *lines, unsigned int width, const void *text, size_t size)
{
	struct bytes b;

	if (width != 1 && width != 2)
		return;
	bytes_init(&b, text, size);
	while (bytes_left(&b) >= width)
		add_character(lines, width == 1 ? bytes_u8(&b) : bytes_u16(&b));
}

bool line_starts_add_utf8(struct line_starts *lines, const char *text, size_t size)
{
	for (size_t at = 0, length; at < size; at += length) {
		const uint8_t *c = (const uint8_t *)text + at;

		length = text_utf8_length(text + at, size - at);
		if (!length)
			return false;
		/* No other character of three bytes ends a line. */
		if (length == 3 && c[0] == 0xe2 && c[1] == 0x80 && (c[2] | 1) == 0xa9)
			add_character(lines, LINE_SEPARATOR);
		else
			add_character(lines, *c);
		/* A pair of surrogates. */
		if (length == 4)
			add_character(lines, *c);
	}
	return true;
}

/* Lines count from 1; 0 if the place is outside of the text. */
static uint32_t line_of(const struct line_starts *lines, int64_t place)
{
	if (place < 0 || place > lines->length)
		return 0;
	return 1 + (uint32_t)count_front(lines->rows.items, lines->rows.count, it, *it <= place);
}

void runtime_set_lines(struct managed_code *code, uint32_t function,
		       const struct line_starts *lines)
{
	if (!function)
		code->first_line = line_of(lines, code->start);
	else
		code->inlined.items[function - 1].first_line =
			line_of(lines, code->inlined.items[function - 1].start);
	vec_for_each(&code->places, struct managed_place *, it) {
		if (it->function == function)
			it->line = line_of(lines, it->place);
	}
}

/* Returns the end of the chain that begins at row `first`. */
static size_t chain_end(const struct managed_code *code, size_t first)
{
	size_t end = first + 1;

	while (end < code->places.count && code->places.items[end].function)
		end++;
	return end;
}

/* Do lines[first, end) describe these calls? */
static bool is_same_chain(const struct managed_code *code, size_t first, size_t end,
			  const struct managed_place *places, size_t count)
{
	if (end - first != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct managed_line *line = &code->lines.items[first + i];

		if (line->function != places[i].function || line->line != places[i].line)
			return false;
	}
	return true;
}

void runtime_make_lines(struct managed_code *code)
{
	size_t last = 0; /* first line of the last chain */

	vec_clear(&code->lines);
	for (size_t first = 0, end; first < code->places.count; first = end) {
		const struct managed_place *places = &code->places.items[first];

		end = chain_end(code, first);
		if (is_same_chain(code, last, code->lines.count, places, end - first))
			continue;
		if (code->lines.count && code->lines.items[last].unit == places->unit)
			code->lines.count = last;
		last = code->lines.count;
		for (size_t i = 0; i < end - first; i++)
			vec_push(&code->lines, ((struct managed_line){places->unit, places[i].line,
								      places[i].function}));
	}
}
