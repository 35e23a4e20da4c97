/* SPDX-License-Identifier: MIT */
#include "lib/format/json_members.h"

#include "lib/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longest spelling of a number that counts. */
#define NUMBER_MAX 64

bool json_members_find(struct json_cursor s, const char *const *names, struct span *spans)
{
	struct json_cursor_list list = {0};
	struct span key, value;

	if (json_cursor_peek(&s) != '{')
		return false;
	while (json_cursor_member(&s, &list, &key)) {
		json_cursor_value(&s, &value);
		for (size_t i = 0; names[i]; i++) {
			if (span_is(&s, key, names[i]))
				spans[i] = value;
		}
	}
	return !s.failed;
}

static bool is_one_of(const struct json_cursor *s, struct span key, const char *const *names)
{
	for (; *names; names++) {
		if (span_is(s, key, *names))
			return true;
	}
	return false;
}

bool json_members_begin(const char *text, size_t size, const char *const *wanted,
			const char *const *others)
{
	struct json_cursor_list list = {0};
	struct json_cursor s;
	struct span key;

	json_cursor_init(&s, text, size);
	if (json_cursor_peek(&s) != '{')
		return false;
	while (json_cursor_member(&s, &list, &key)) {
		if (is_one_of(&s, key, wanted))
			return true;
		if (is_one_of(&s, key, others))
			return false;
		json_cursor_skip(&s);
	}
	return false;
}

double json_members_number(struct json_cursor *s)
{
	char text[NUMBER_MAX];
	struct span value;
	double number;
	size_t size;

	if (!strchr("-0123456789", json_cursor_peek(s)) || !json_cursor_value(s, &value)) {
		json_cursor_skip(s);
		return 0;
	}
	size = value.end - value.start;
	if (size >= sizeof(text))
		size = sizeof(text) - 1;
	memcpy(text, s->text + value.start, size);
	text[size] = '\0';
	number = strtod(text, NULL);
	return isfinite(number) ? number : 0;
}

double json_members_number_at(const struct json_cursor *whole, struct span span)
{
	struct json_cursor s = json_cursor_within(whole, span);

	return span.end ? json_members_number(&s) : 0;
}

char *json_members_text_at(const struct json_cursor *whole, struct span span)
{
	struct json_cursor s = json_cursor_within(whole, span);

	return span.end ? json_cursor_text(&s) : xstrdup("");
}
