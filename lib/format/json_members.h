/* SPDX-License-Identifier: MIT */
/* Members of a JSON object, by name. */
#ifndef PROF_LIB_FORMAT_JSON_MEMBERS_H
#define PROF_LIB_FORMAT_JSON_MEMBERS_H

#include "lib/base/json/cursor.h"

/*
 * Finds the values of members of the object at the cursor; spans of those that are missing stay as
 * they are. False if it is no object, or damaged.
 */
bool json_members_find(struct json_cursor s, const char *const *names, struct span *spans);
/* Tells whether the object has one of these members before any of the other ones. */
bool json_members_begin(const char *text, size_t size, const char *const *wanted,
			const char *const *others);
/* Reads any number as a double; 0, consuming the value, for others. */
double json_members_number(struct json_cursor *s);
/* Returns the number in a span of `whole`; 0 if the span is empty. */
double json_members_number_at(const struct json_cursor *whole, struct span span);
/* Returns the text in a span of `whole`, the caller's to free; "" if the span is empty. */
char *json_members_text_at(const struct json_cursor *whole, struct span span);

#endif
