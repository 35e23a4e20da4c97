/* SPDX-License-Identifier: MIT */
#include "lib/base/base.h"

/*
 * Makes room for `size` more bytes and the terminator. An overflow becomes an impossible request,
 * which ends the process.
 */
static void reserve(struct strbuf *s, size_t size)
{
	size_t needed;

	if (__builtin_add_overflow(s->size, size, &needed) ||
	    __builtin_add_overflow(needed, 1, &needed))
		needed = SIZE_MAX;
	if (needed > s->capacity)
		s->text = vec_grow(s->text, &s->capacity, needed, 1);
}

void strbuf_release(struct strbuf *s)
{
	free(s->text);
	*s = (struct strbuf){0};
}

void strbuf_reset(struct strbuf *s)
{
	s->size = 0;
	if (s->text)
		s->text[0] = '\0';
}

void strbuf_add(struct strbuf *s, const void *data, size_t size)
{
	reserve(s, size);
	if (size)
		memcpy(s->text + s->size, data, size);
	s->size += size;
	s->text[s->size] = '\0';
}

void strbuf_adds(struct strbuf *s, const char *text)
{
	strbuf_add(s, text, strlen(text));
}

void strbuf_addch(struct strbuf *s, char c)
{
	reserve(s, 1);
	s->text[s->size++] = c;
	s->text[s->size] = '\0';
}

void strbuf_add_utf8(struct strbuf *s, uint32_t c)
{
	char bytes[4];
	size_t size = 0;

	if (c >= 0xd800 && c < 0xe000)
		c = 0xfffd;
	if (c < 0x80) {
		bytes[size++] = (char)c;
	} else if (c < 0x800) {
		bytes[size++] = (char)(0xc0 | c >> 6);
		bytes[size++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		bytes[size++] = (char)(0xe0 | c >> 12);
		bytes[size++] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[size++] = (char)(0x80 | (c & 0x3f));
	} else {
		bytes[size++] = (char)(0xf0 | c >> 18);
		bytes[size++] = (char)(0x80 | (c >> 12 & 0x3f));
		bytes[size++] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[size++] = (char)(0x80 | (c & 0x3f));
	}
	strbuf_add(s, bytes, size);
}

void strbuf_addf(struct strbuf *s, const char *fmt, ...)
{
	va_list args;
	int length;

	reserve(s, 0);
	va_start(args, fmt);
	length = vsnprintf(s->text + s->size, s->capacity - s->size, fmt, args);
	va_end(args);
	if (length < 0) {
		s->text[s->size] = '\0';
		return;
	}
	if ((size_t)length >= s->capacity - s->size) {
		reserve(s, (size_t)length);
		va_start(args, fmt);
		vsnprintf(s->text + s->size, s->capacity - s->size, fmt, args);
		va_end(args);
	}
	s->size += (size_t)length;
}

const char *strbuf_text(const struct strbuf *s)
{
	return s->text ? s->text : "";
}

char *strbuf_take(struct strbuf *s)
{
	char *text = s->text ? s->text : xstrdup("");

	*s = (struct strbuf){0};
	return text;
}

void strbuf_add_grouped(struct strbuf *s, uint64_t value)
{
	char digits[24];
	size_t size = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, value);

	for (size_t i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			strbuf_addch(s, ',');
		strbuf_addch(s, digits[i]);
	}
}
