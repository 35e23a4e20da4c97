/* SPDX-License-Identifier: MIT */
/*
 * A cursor over JSON text (RFC 8259), which is untrusted. It builds nothing: a caller walks into
 *the values it knows, skips the others, and keeps where they are. What is no JSON sets `failed`,
 *which stays set: every function then does nothing and says false or nothing.
 *
 *	struct scan_list list = {0};
 *	struct span key;
 *
 *	while (scan_member(s, &list, &key))	// '{' or what follows it
 *		if (span_is(s, key, "length"))
 *			scan_i64(s, &length);
 *		else
 *			scan_skip(s);		// each value must be consumed
 */
#ifndef PROF_LIB_JSON_CURSOR_H
#define PROF_LIB_JSON_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"

/* Values within one another. */
#define SCAN_DEPTH_MAX 128

struct scan {
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
struct scan_list {
	bool is_begun;
};

void scan_init(struct scan *s, const char *text, size_t size);
/* A cursor over a part of the same text; offsets remain those of the whole. */
struct scan scan_within(const struct scan *s, struct span span);

/* The first character of the next value; '\0' at the end and after a failure. Consumes nothing. */
char scan_peek(struct scan *s);
/* To the next member of the object that begins here; `key` is what stands between the quotes. */
bool scan_member(struct scan *s, struct scan_list *list, struct span *key);
/* To the next element of the array that begins here. */
bool scan_element(struct scan *s, struct scan_list *list);
/* Any value; false where there is none. */
bool scan_skip(struct scan *s);
/* As scan_skip(), with where it stands. */
bool scan_value(struct scan *s, struct span *value);
/* An integer that fits; all else fails. */
bool scan_i64(struct scan *s, int64_t *value);
/* Consumes a null; false, and nothing consumed, where it is another value. */
bool scan_null(struct scan *s);
/* A string, in UTF-8, in place of what `text` holds; half a surrogate pair becomes U+FFFD. */
bool scan_string(struct scan *s, struct strbuf *text);
/* Nothing but white space follows. */
bool scan_end(struct scan *s);

/* Is this the text of the span? */
bool span_is(const struct scan *s, struct span span, const char *text);

#endif
