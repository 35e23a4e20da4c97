/* SPDX-License-Identifier: MIT */
#include "lib/base/json/writer.h"

#define BUFFER_SIZE (64u * 1024)
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define ONES 0x0101010101010101ull

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "digits are stored lowest byte first");

/* clang-format off */
/* All numbers of one to three digits, each after the prefix p; then all of four digits. */
#define DIGITS_1(p) p "0" p "1" p "2" p "3" p "4" p "5" p "6" p "7" p "8" p "9"
#define DIGITS_2(p) \
	DIGITS_1(p "0") DIGITS_1(p "1") DIGITS_1(p "2") DIGITS_1(p "3") DIGITS_1(p "4") \
	DIGITS_1(p "5") DIGITS_1(p "6") DIGITS_1(p "7") DIGITS_1(p "8") DIGITS_1(p "9")
#define DIGITS_3(p) \
	DIGITS_2(p "0") DIGITS_2(p "1") DIGITS_2(p "2") DIGITS_2(p "3") DIGITS_2(p "4") \
	DIGITS_2(p "5") DIGITS_2(p "6") DIGITS_2(p "7") DIGITS_2(p "8") DIGITS_2(p "9")
#define DIGITS_4 \
	DIGITS_3("0") DIGITS_3("1") DIGITS_3("2") DIGITS_3("3") DIGITS_3("4") \
	DIGITS_3("5") DIGITS_3("6") DIGITS_3("7") DIGITS_3("8") DIGITS_3("9")
/* clang-format on */

const char jsonw_fours[40001] __attribute__((aligned(64))) = DIGITS_4;

void jsonw_init(struct jsonw *w, struct outfile *out)
{
	*w = (struct jsonw){.out = out, .is_first = true};
	w->buffer = w->at = xmalloc(BUFFER_SIZE);
	w->limit = w->buffer + BUFFER_SIZE - JSONW_SLACK;
}

void jsonw_init_text(struct jsonw *w, struct strbuf *text)
{
	jsonw_init(w, NULL);
	w->text = text;
}

void jsonw_flush(struct jsonw *w)
{
	size_t size = (size_t)(w->at - w->buffer);

	if (w->text)
		strbuf_add(w->text, w->buffer, size);
	else
		outfile_write(w->out, w->buffer, size);
	w->at = w->buffer;
}

void jsonw_release(struct jsonw *w)
{
	jsonw_flush(w);
	free(w->buffer);
	*w = (struct jsonw){0};
}

char *jsonw_format_large_u64(char *at, uint64_t value)
{
	at = jsonw_format_u64(at, value / 100000000);
	jsonw_store(at, jsonw_digits((uint32_t)(value % 100000000)));
	return at + 8;
}

char *jsonw_format_large_ms(char *at, uint64_t ns)
{
	uint64_t whole = ns / 1000000;

	/* Format the last two digits of the whole part together with the fraction. */
	if (whole >= 100) {
		at = jsonw_format_u64(at, whole / 100);
		if (whole % 100 < 10)
			*at++ = '0';
	}
	return jsonw_format_ms(at, ns % 100000000);
}

static void open_bracket(struct jsonw *w, char bracket)
{
	char *at = jsonw_begin_value(w);

	*at = bracket;
	w->at = at + 1;
	w->is_first = true;
}

static void close_bracket(struct jsonw *w, char bracket)
{
	/* No comma goes between a key and its value. */
	w->is_first = true;
	w->at = jsonw_begin_value(w);
	*w->at++ = bracket;
}

void jsonw_object_begin(struct jsonw *w)
{
	open_bracket(w, '{');
}

void jsonw_object_end(struct jsonw *w)
{
	close_bracket(w, '}');
}

void jsonw_array_begin(struct jsonw *w)
{
	open_bracket(w, '[');
}

void jsonw_array_end(struct jsonw *w)
{
	close_bracket(w, ']');
}

static void append(struct jsonw *w, const char *data, size_t size)
{
	while (size) {
		/* Keep the room after the limit for the next value. */
		size_t room = w->at < w->limit ? (size_t)(w->limit - w->at) : 0;
		size_t part = size < room ? size : room;

		if (!part) {
			jsonw_flush(w);
			continue;
		}
		memcpy(w->at, data, part);
		w->at += part;
		data += part;
		size -= part;
	}
}

void jsonw_key(struct jsonw *w, const char *key)
{
	w->at = jsonw_begin_value(w);
	append(w, "\"", 1);
	append(w, key, strlen(key));
	append(w, "\":", 2);
	w->is_first = true;
}

void jsonw_raw_value(struct jsonw *w, const void *data, size_t size)
{
	w->at = jsonw_begin_value(w);
	append(w, data, size);
}

void jsonw_raw(struct jsonw *w, const void *data, size_t size)
{
	append(w, data, size);
}

char *jsonw_column_begin(struct jsonw *w, const char *key)
{
	jsonw_key(w, key);
	jsonw_array_begin(w);
	return w->at;
}

void jsonw_column_end(struct jsonw *w, char *at)
{
	/*
	 * at[-1] is the last comma, or the bracket of an empty column: only writing a value can
	 * flush.
	 */
	if (at[-1] == ',')
		at--;
	*at = ']';
	w->at = at + 1;
	w->is_first = false;
}

/* Returns the number of leading bytes that need no escape in a JSON string. */
static size_t plain_length(const char *text, size_t size)
{
	size_t i = 0;

	for (; i + 8 <= size; i += 8) {
		uint64_t bytes, quotes, backslashes;

		memcpy(&bytes, text + i, sizeof(bytes));
		quotes = bytes ^ ONES * '"';
		backslashes = bytes ^ ONES * '\\';
		/* Sets the top bit of bytes above 0x7f, below 0x20, quotes and backslashes. */
		if ((bytes | (bytes - ONES * 0x20) | (quotes - ONES) | (backslashes - ONES)) &
		    ONES * 0x80)
			break;
	}
	for (; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c > 0x7f || c == '"' || c == '\\')
			break;
	}
	return i;
}

static void escape(struct jsonw *w, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";

	for (size_t i = 0; i + 1 < sizeof(letters); i += 2) {
		if ((unsigned char)letters[i] == c) {
			append(w, (char[]){'\\', letters[i + 1]}, 2);
			return;
		}
	}
	append(w, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
}

void jsonw_string(struct jsonw *w, const char *text, size_t size)
{
	w->at = jsonw_begin_value(w);
	append(w, "\"", 1);
	while (size) {
		size_t length = plain_length(text, size);

		if (length) {
			append(w, text, length);
		} else if ((unsigned char)*text < 0x80) {
			escape(w, (unsigned char)*text);
			length = 1;
		} else if ((length = text_utf8_length(text, size))) {
			append(w, text, length);
		} else {
			append(w, REPLACEMENT, sizeof(REPLACEMENT) - 1);
			length = 1;
		}
		text += length;
		size -= length;
	}
	append(w, "\"", 1);
}

void jsonw_cstring(struct jsonw *w, const char *text)
{
	jsonw_string(w, text, strlen(text));
}

bool jsonw_is_clean(const char *text, size_t size)
{
	for (size_t i = 0, length; i < size; i += length) {
		uint64_t bytes = 0;

		if (i + 8 <= size)
			memcpy(&bytes, text + i, sizeof(bytes));
		if (i + 8 <= size && !(bytes & ONES * 0x80))
			length = 8;
		else
			length = text_utf8_length(text + i, size - i);
		if (!length)
			return false;
	}
	return true;
}

void jsonw_clean(struct strbuf *s, const char *text, size_t size)
{
	for (size_t i = 0, length; i < size; i += length) {
		length = text_utf8_length(text + i, size - i);
		if (length) {
			strbuf_add(s, text + i, length);
		} else {
			strbuf_add(s, REPLACEMENT, sizeof(REPLACEMENT) - 1);
			length = 1;
		}
	}
}
