/* SPDX-License-Identifier: MIT */
/* Interned strings: arbitrary bytes without NUL. Formats convert them to valid UTF-8. */
#pragma once

#include "lib/model/tables/ids.h"

struct string_row {
	uint64_t offset; /* offset into `text` */
	uint32_t size;
	uint32_t hash;
};

struct strings {
	VEC(char) text; /* all strings, NUL-terminated */
	VEC(struct string_row) rows;
	struct index index;
};

void strings_release(struct strings *s);
string_id strings_intern(struct strings *s, const char *text);
string_id strings_intern_sized(struct strings *s, const char *text, size_t size);
/* Interns the text as one printable line of valid UTF-8, see text_to_line(). */
string_id strings_intern_line(struct strings *s, const char *text);
/* Interns several terminated strings as one row. Not for display. */
string_id strings_intern_list(struct strings *s, const char *text, size_t size);
/* Makes rows that a reader has filled in findable, once; of equal ones, the first is found. */
void strings_index(struct strings *s);
/* Returns the id of an existing string, else NO_STRING. */
string_id strings_find(const struct strings *s, const char *text, size_t size);
/* Valid until the next intern. Returns "" for NO_STRING. */
const char *strings_get(const struct strings *s, string_id id);
size_t strings_size(const struct strings *s, string_id id);

/*
 * The strings of a table under their ids, followed by additional strings. The table itself is not
 * changed.
 */
struct string_overlay {
	const struct strings *base;
	struct strings own;
};

void string_overlay_release(struct string_overlay *t);
/* Returns the upper bound of ids. */
size_t string_overlay_count(const struct string_overlay *t);
string_id string_overlay_intern(struct string_overlay *t, const char *text);
string_id string_overlay_intern_sized(struct string_overlay *t, const char *text, size_t size);
/* Valid until the next intern. Returns "" for NO_STRING. */
const char *string_overlay_get(const struct string_overlay *t, string_id id);
size_t string_overlay_size(const struct string_overlay *t, string_id id);
