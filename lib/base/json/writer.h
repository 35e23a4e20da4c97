/* SPDX-License-Identifier: MIT */
/*
 * Streams JSON into an outfile or a text: no tree, one fixed buffer. The caller keeps the structure
 *valid; the writer sets commas between values, escapes strings and makes them valid UTF-8.
 *
 * Long columns of numbers are written faster, with the place to write to in a register:
 *
 *	char *at = jsonw_column_begin(w, "stack");
 *	for (size_t i = 0; i < count; i++)
 *		at = jsonw_column_next(jsonw_format_u64(jsonw_column_room(w, at), stacks[i]));
 *	jsonw_column_end(w, at);
 *
 * Formatting looks up four digits at a time and does not branch on their number, which a processor
 * cannot predict.
 */
#pragma once

#include "lib/base/outfile.h"

/* Room after `limit` for any value but a string: comma, sign, 20 digits, stores of 8 bytes. */
#define JSONW_SLACK 64

struct jsonw {
	struct outfile *out; /* destination, or NULL */
	struct strbuf *text;
	char *buffer, *at;
	char *limit; /* a value that would begin here or later flushes the buffer first */
	bool is_first; /* no comma is needed before the next value */
};

void jsonw_init(struct jsonw *w, struct outfile *out);
/* Does the same, appending to a strbuf. */
void jsonw_init_text(struct jsonw *w, struct strbuf *text);
/* Passes the buffered bytes to the outfile. */
void jsonw_flush(struct jsonw *w);
/* Flushes, and frees the buffer. */
void jsonw_release(struct jsonw *w);

void jsonw_object_begin(struct jsonw *w);
void jsonw_object_end(struct jsonw *w);
void jsonw_array_begin(struct jsonw *w);
void jsonw_array_end(struct jsonw *w);
/* Writes a name that needs no escaping. */
void jsonw_key(struct jsonw *w, const char *key);
/* Replaces invalid UTF-8 as jsonw_clean() does. */
void jsonw_string(struct jsonw *w, const char *text, size_t size);
void jsonw_cstring(struct jsonw *w, const char *text);
/* Writes a value that the caller has already formatted. */
void jsonw_raw_value(struct jsonw *w, const void *data, size_t size);
/* Writes bytes between values, or the remaining bytes of a value. */
void jsonw_raw(struct jsonw *w, const void *data, size_t size);

/* Returns true for valid UTF-8. */
bool jsonw_is_clean(const char *text, size_t size);
/* Appends the text with U+FFFD for every byte that is not part of valid UTF-8. */
void jsonw_clean(struct strbuf *s, const char *text, size_t size);

/* "0000" … "9999" in a row, four bytes each. */
extern const char jsonw_fours[40001];

/* Returns `value`, below 10^8, as eight ASCII digits, the first in the lowest byte. */
static inline uint64_t jsonw_digits(uint32_t value)
{
	uint32_t upper, lower;

	memcpy(&upper, jsonw_fours + 4 * (value / 10000), 4);
	memcpy(&lower, jsonw_fours + 4 * (value % 10000), 4);
	return upper | (uint64_t)lower << 32;
}

#define JSONW_ZEROS 0x3030303030303030ull

/* Stores eight bytes at `at`, aligned or not. */
static inline void jsonw_store(char *at, uint64_t bytes)
{
	memcpy(at, &bytes, sizeof(bytes));
}

/*
 * All jsonw_format_… return the end of the written text and may overwrite up to 8 bytes after it.
 * The large variants take the values that the inline functions do not handle.
 */
char *jsonw_format_large_u64(char *at, uint64_t value);
char *jsonw_format_large_ms(char *at, uint64_t ns);

static inline char *jsonw_format_u64(char *at, uint64_t value)
{
	uint64_t digits;
	unsigned int leading;

	if (__builtin_expect(value >= 100000000, 0))
		return jsonw_format_large_u64(at, value);
	digits = jsonw_digits((uint32_t)value);
	/* The extra bit keeps the last digit if all are 0. */
	leading = (unsigned int)__builtin_ctzll((digits ^ JSONW_ZEROS) | 1ull << 56) / 8;
	jsonw_store(at, digits >> 8 * leading);
	return at + 8 - leading;
}

static inline char *jsonw_format_i64(char *at, int64_t value)
{
	*at = '-';
	at += value < 0;
	return jsonw_format_u64(at, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Nanoseconds as milliseconds: "12.345678", exact, without trailing zeros. */
static inline char *jsonw_format_ms(char *at, uint64_t ns)
{
	uint64_t digits, rest;
	unsigned int trailing, leading;

	if (__builtin_expect(ns >= 100000000, 0))
		return jsonw_format_large_ms(at, ns);
	/* Two digits before the point, the first possibly a leading 0, and six after it. */
	digits = jsonw_digits((uint32_t)ns);
	leading = (digits & 0xff) == '0';
	jsonw_store(at, digits >> 8 * leading);
	at += 2 - leading;
	*at = '.';
	jsonw_store(at + 1, digits >> 16);
	rest = (digits ^ JSONW_ZEROS) >> 16;
	trailing = (unsigned int)__builtin_clzll(rest << 16 | 1) / 8;
	return at + (rest ? 7 - trailing : 0);
}

static inline char *jsonw_format_null(char *at)
{
	memcpy(at, "null", 4);
	return at + 4;
}

static inline char *jsonw_format_bool(char *at, bool value)
{
	memcpy(at, value ? "true" : "false", 5);
	return at + 5 - value;
}

/* Returns `at` with JSONW_SLACK bytes of room, flushing if necessary. */
static inline char *jsonw_column_room(struct jsonw *w, char *at)
{
	if (__builtin_expect(at >= w->limit, 0)) {
		w->at = at;
		jsonw_flush(w);
		at = w->at;
	}
	return at;
}

/* Begins a column; nothing else may be written until jsonw_column_end(). */
char *jsonw_column_begin(struct jsonw *w, const char *key);
void jsonw_column_end(struct jsonw *w, char *at);

static inline char *jsonw_column_next(char *at)
{
	*at = ',';
	return at + 1;
}

/* Returns the position of the next value, after its comma, with JSONW_SLACK bytes of room. */
static inline char *jsonw_begin_value(struct jsonw *w)
{
	char *at = jsonw_column_room(w, w->at);

	*at = ',';
	at += !w->is_first;
	w->is_first = false;
	return at;
}

static inline void jsonw_u64(struct jsonw *w, uint64_t value)
{
	w->at = jsonw_format_u64(jsonw_begin_value(w), value);
}

static inline void jsonw_i64(struct jsonw *w, int64_t value)
{
	w->at = jsonw_format_i64(jsonw_begin_value(w), value);
}

static inline void jsonw_ms(struct jsonw *w, uint64_t ns)
{
	w->at = jsonw_format_ms(jsonw_begin_value(w), ns);
}

static inline void jsonw_null(struct jsonw *w)
{
	w->at = jsonw_format_null(jsonw_begin_value(w));
}

static inline void jsonw_bool(struct jsonw *w, bool value)
{
	w->at = jsonw_format_bool(jsonw_begin_value(w), value);
}

/* Writes a member of an object: jsonw_member(w, "count", u64, 7). */
#define jsonw_member(w, key, type, ...) (jsonw_key(w, key), jsonw_##type(w, ##__VA_ARGS__))
