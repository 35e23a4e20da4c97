/* SPDX-License-Identifier: MIT */
/*
 * A cursor over JSON text (RFC 8259), which is untrusted. It builds nothing: a caller walks into
 * the values it knows, skips the others, and keeps where they are. What is no JSON sets `failed`,
 * which stays set: every function then does nothing and says false or nothing.
 *
 *	struct json_cursor_list list = {0};
 *	struct span key;
 *
 *	while (json_cursor_member(s, &list, &key))	// '{' or what follows it
 *		if (span_is(s, key, "length"))
 *			json_cursor_i64(s, &length);
 *		else
 *			json_cursor_skip(s);		// each value must be consumed
 */
#ifndef PROF_LIB_JSON_CURSOR_H
#define PROF_LIB_JSON_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"

/* Values within one another. */
#define JSON_CURSOR_DEPTH_MAX 128

struct json_cursor {
	const char *text;
	size_t at, size;
	unsigned int depth;
	bool failed; /* at `at` */
};

/* [start, end) of the text. */
struct span {
	size_t start, end;
};

/* Of an object or array that is walked. Zeroed before the first member or element. */
struct json_cursor_list {
	bool is_begun;
};

void json_cursor_init(struct json_cursor *s, const char *text, size_t size);
/* A cursor over a part of the same text; offsets remain those of the whole. */
struct json_cursor json_cursor_within(const struct json_cursor *s, struct span span);

/* The first character of the next value; '\0' at the end and after a failure. Consumes nothing. */
char json_cursor_peek(struct json_cursor *s);
/* To the next member of the object that begins here; `key` is what stands between the quotes. */
bool json_cursor_member(struct json_cursor *s, struct json_cursor_list *list, struct span *key);
/* To the next element of the array that begins here. */
bool json_cursor_element(struct json_cursor *s, struct json_cursor_list *list);
/* Any value; false where there is none. */
bool json_cursor_skip(struct json_cursor *s);
/* As json_cursor_skip(), with where it stands. */
bool json_cursor_value(struct json_cursor *s, struct span *value);
/* An integer that fits; all else fails. */
bool json_cursor_i64(struct json_cursor *s, int64_t *value);
/* Thousandths count on in the direction of the sign. */
struct decimal {
	int64_t millionths;
	int32_t thousandths; /* of one of those: -999 … 999 */
};

/* Any number below 9e12, cut off behind nine places; all else fails. */
bool json_cursor_decimal(struct json_cursor *s, struct decimal *value);
/* A true or a false; all else fails. */
bool json_cursor_bool(struct json_cursor *s, bool *value);
/* Consumes a null; false, and nothing consumed, where it is another value. */
bool json_cursor_null(struct json_cursor *s);
/* A string, in UTF-8, in place of what `text` holds; half a surrogate pair becomes U+FFFD. */
bool json_cursor_string(struct json_cursor *s, struct strbuf *text);
/* Nothing but white space follows. */
bool json_cursor_end(struct json_cursor *s);

/* Is this the text of the span? */
bool span_is(const struct json_cursor *s, struct span span, const char *text);

#endif
