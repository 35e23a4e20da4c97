/* SPDX-License-Identifier: MIT */
/*
 * Streams JSON into an outfile: no tree, one fixed buffer. The caller sees to the structure; commas
 * between values are set here, and strings are escaped and made valid UTF-8.
 *
 * What columns consist of is inline, and free of branches on the number of digits: those are what
 * a processor cannot predict.
 */
#ifndef PROF_LIB_EXPORT_JSONW_H
#define PROF_LIB_EXPORT_JSONW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/outfile.h"
#include "lib/base/strbuf.h"

/* Room behind `limit` for anything but a string: comma, sign, 20 digits, stores of 8 bytes. */
#define JSONW_SLACK 64

struct jsonw {
	struct outfile *out;
	char *buffer, *at;
	char *limit; /* a value that begins here or later flushes first */
	bool is_first; /* no comma before the next value */
};

void jsonw_init(struct jsonw *w, struct outfile *out);
/* Hands what is buffered on to the outfile. */
void jsonw_flush(struct jsonw *w);
/* Flushes, and frees the buffer. */
void jsonw_release(struct jsonw *w);

void jsonw_object_begin(struct jsonw *w);
void jsonw_object_end(struct jsonw *w);
void jsonw_array_begin(struct jsonw *w);
void jsonw_array_end(struct jsonw *w);
/* A name that needs no escaping. */
void jsonw_key(struct jsonw *w, const char *key);
/* Invalid UTF-8 is written as jsonw_clean() would make it. */
void jsonw_string(struct jsonw *w, const char *text, size_t size);
void jsonw_cstring(struct jsonw *w, const char *text);
/* Begins a value that somebody else formatted; it follows in any number of pieces. */
void jsonw_raw_begin(struct jsonw *w);
void jsonw_raw(struct jsonw *w, const void *data, size_t size);

/* Is it valid UTF-8? */
bool jsonw_is_clean(const char *text, size_t size);
/* Appends the text with U+FFFD for every byte that is not part of valid UTF-8. */
void jsonw_clean(struct strbuf *s, const char *text, size_t size);

/* `value` below 10^8 as eight decimal digits 0 … 9, a byte each, the first in the lowest byte. */
static inline uint64_t jsonw_digits(uint32_t value)
{
	uint64_t fours, hundreds, pairs, tens, digits;

	/* In each step every lane is split in two by a multiplication with the reciprocal. */
	fours = value / 10000 | (uint64_t)(value % 10000) << 32;
	hundreds = fours * 10486 >> 20 & 0x7f0000007full;
	pairs = hundreds | (fours - 100 * hundreds) << 16;
	tens = pairs * 103 >> 10 & 0x000f000f000f000full;
	digits = tens | (pairs - 10 * tens) << 8;
	return digits;
}

/* Eight bytes at `at`, whatever the machine thinks of alignment. */
static inline void jsonw_store(char *at, uint64_t bytes)
{
	memcpy(at, &bytes, sizeof(bytes));
}

#define JSONW_ASCII_ZEROS 0x3030303030303030ull

/*
 * All return the end of what they wrote; up to 8 bytes behind it are overwritten. A small value is
 * below 10^8, a large one is not.
 */
char *jsonw_format_large(char *at, uint64_t value);

static inline char *jsonw_format_small(char *at, uint32_t value)
{
	uint64_t digits = jsonw_digits(value);
	/* The bit keeps the last digit where all are 0. */
	unsigned int leading = (unsigned int)__builtin_ctzll(digits | 1ull << 56) & ~7u;

	jsonw_store(at, (digits | JSONW_ASCII_ZEROS) >> leading);
	return at + 8 - leading / 8;
}

static inline char *jsonw_format_u64(char *at, uint64_t value)
{
	if (__builtin_expect(value < 100000000, 1))
		return jsonw_format_small(at, (uint32_t)value);
	return jsonw_format_large(at, value);
}

/* Where the next value goes: behind its comma, with JSONW_SLACK bytes of room. */
static inline char *jsonw_begin_value(struct jsonw *w)
{
	char *at = w->at;

	if (__builtin_expect(at >= w->limit, 0)) {
		jsonw_flush(w);
		at = w->at;
	}
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
	char *at = jsonw_begin_value(w);

	*at = '-';
	at += value < 0;
	w->at = jsonw_format_u64(at, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static inline void jsonw_null(struct jsonw *w)
{
	char *at = jsonw_begin_value(w);

	memcpy(at, "null", 4);
	w->at = at + 4;
}

static inline void jsonw_bool(struct jsonw *w, bool value)
{
	char *at = jsonw_begin_value(w);

	memcpy(at, value ? "true" : "false", 5);
	w->at = at + 5 - value;
}

/* Nanoseconds as milliseconds: "12.345678", exact, without zeros at the end. */
static inline void jsonw_ns_as_ms(struct jsonw *w, uint64_t ns)
{
	char *at = jsonw_format_u64(jsonw_begin_value(w), ns / 1000000);
	uint32_t rest = (uint32_t)(ns % 1000000);
	uint64_t digits = jsonw_digits(rest * 100);
	/* The last two are always 0: the bit is never in the way of a digit. */
	unsigned int trailing = (unsigned int)__builtin_clzll(digits | 1) / 8;

	*at = '.';
	jsonw_store(at + 1, digits | JSONW_ASCII_ZEROS);
	w->at = at + (rest ? 9 - trailing : 0);
}

#endif
