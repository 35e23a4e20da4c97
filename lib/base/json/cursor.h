/* SPDX-License-Identifier: MIT */
/*
 * A cursor over untrusted JSON text (RFC 8259). It builds no tree: a caller enters the values it
 * knows, skips the others, and keeps their spans. Invalid JSON sets `failed`, which stays set:
 * every function then does nothing and returns false or nothing.
 *
 *	json_for_each_member(s, key) {			// '{' or what follows it
 *		if (span_is(s, key, "length"))
 *			json_cursor_i64(s, &length);
 *	}
 */
#pragma once

#include "lib/base/base.h"

/*
 * A JSON number with decimal places, exact to 1e-9. It is millionths + thousandths / 1000
 * millionths; both members have its sign.
 */
struct decimal {
	int64_t millionths;
	int32_t thousandths; /* thousandths of a millionth: -999 to 999 */
};

static inline bool decimal_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Deepest nesting of values. */
#define JSON_CURSOR_DEPTH_MAX 512

/* [start, end) of the text. */
struct span {
	size_t start, end;
};

/*
 * Ends of large objects and arrays that were skipped once. With them, a reader that first validates
 * a text and then enters it level by level scans it twice, not once per level. Zero it before use;
 * valid for one text.
 */
struct json_ends {
	struct span rows[4096]; /* by hash of the start */
};

struct json_cursor {
	const char *text;
	size_t at, size;
	unsigned int depth;
	bool failed; /* failed at offset `at` */
	struct json_ends *ends; /* NULL: ends are not remembered */
};

void json_cursor_init(struct json_cursor *s, const char *text, size_t size);
/*
 * Returns a cursor over a part of the same text; offsets still count from the start of the whole.
 */
struct json_cursor json_cursor_within(const struct json_cursor *s, struct span span);

/*
 * Returns the first character of the next value without consuming it; '\0' at the end and after a
 * failure.
 */
char json_cursor_peek(struct json_cursor *s);
/*
 * Moves to the next member of the object that begins here. `key` is the text between the quotes;
 * pass 0, 0 for the first member. Skips the previous value unless the caller has consumed it.
 */
bool json_cursor_member(struct json_cursor *s, struct span *key);
/* Moves to the next element of the array that begins here in the same way; `row` is its number. */
bool json_cursor_element(struct json_cursor *s, size_t row);

#define json_for_each_member(s, key) for (struct span key = {0}; json_cursor_member(s, &key);)
#define json_for_each_element(s, row) for (size_t row = 0; json_cursor_element(s, row); row++)
/* The same, but a value of any other type counts as empty. */
#define json_for_each_member_if_any(s, key) \
	for (struct span key = {0}; \
	     (key.end || json_cursor_peek(s) == '{') && json_cursor_member(s, &key);)
#define json_for_each_element_if_any(s, row) \
	for (size_t row = 0; (row || json_cursor_peek(s) == '[') && json_cursor_element(s, row); \
	     row++)

/* Skips any value; false if there is none. */
bool json_cursor_skip(struct json_cursor *s);
/* Like json_cursor_skip(), and sets *value to its span. */
bool json_cursor_value(struct json_cursor *s, struct span *value);
/* Reads an integer that fits; anything else fails. */
bool json_cursor_i64(struct json_cursor *s, int64_t *value);
/* Reads any number below 9e12, truncated after nine decimal places; anything else fails. */
bool json_cursor_decimal(struct json_cursor *s, struct decimal *value);
/* Reads true or false; anything else fails. */
bool json_cursor_bool(struct json_cursor *s, bool *value);
/* Consumes a null; false, consuming nothing, for any other value. */
bool json_cursor_null(struct json_cursor *s);
/* Reads a string as UTF-8, replacing the content of `text`; a lone surrogate becomes U+FFFD. */
bool json_cursor_string(struct json_cursor *s, struct strbuf *text);
/*
 * Copies a string up to its first NUL; the caller frees it. Skips any other value and returns "".
 */
char *json_cursor_text(struct json_cursor *s);
/*
 * Finds the values of the named members of the object at the cursor. Leaves spans of missing
 * members unchanged. Returns false if the object is damaged or the value is not an object.
 */
bool json_cursor_find(struct json_cursor s, const char *const *names, struct span *spans);
/* True if nothing but white space follows. */
bool json_cursor_end(struct json_cursor *s);

/* True if the span equals this text. */
bool span_is(const struct json_cursor *s, struct span span, const char *text);
/* Does the same for a NULL-terminated list of strings. */
bool span_is_one_of(const struct json_cursor *s, struct span span, const char *const *texts);
