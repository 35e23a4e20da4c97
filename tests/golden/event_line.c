/* SPDX-License-Identifier: MIT */
#include "tests/golden/event_line.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/base.h"

void event_line_problem(struct event_line *l, const char *what, const char *which)
{
	if (!l->problem[0])
		snprintf(l->problem, sizeof(l->problem), "%s %s", what, which);
}

void event_line_split(struct event_line *l, char *text)
{
	char *rest = NULL;

	memset(l, 0, sizeof(*l));
	l->kind = strtok_r(text, " \t", &rest);
	if (l->kind && l->kind[0] == '#')
		l->kind = NULL;
	if (!l->kind)
		return;
	for (char *word; (word = strtok_r(NULL, " \t", &rest));) {
		char *equals = strchr(word, '=');

		if (!equals || l->count == EVENT_FIELDS_MAX) {
			event_line_problem(l, "not key=value, or too many:", word);
			return;
		}
		*equals = '\0';
		l->fields[l->count++] = (struct event_field){word, equals + 1, false};
	}
}

char *event_line_text(struct event_line *l, const char *key)
{
	for (size_t i = 0; i < l->count; i++) {
		struct event_field *field = &l->fields[i];

		if (!field->is_taken && strcmp(field->key, key) == 0) {
			field->is_taken = true;
			return field->value;
		}
	}
	return NULL;
}

bool event_number(const char *text, uint64_t *number)
{
	if (text_starts_with(text, "0x"))
		return text_to_u64(text + 2, 16, number);
	return text_to_u64(text, 10, number);
}

uint64_t event_line_number(struct event_line *l, const char *key, uint64_t otherwise)
{
	const char *text = event_line_text(l, key);
	uint64_t number = otherwise;

	if (text && !event_number(text, &number))
		event_line_problem(l, "not a number:", text);
	return number;
}

uint64_t event_line_time(struct event_line *l, const char *key)
{
	static const struct event_word units[] = {
		{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0},
	};
	char *text = event_line_text(l, key);
	uint64_t number = 0;

	if (!text)
		return 0;
	for (const struct event_word *unit = units; unit->name; unit++) {
		if (!text_ends_with(text, unit->name))
			continue;
		text[strlen(text) - strlen(unit->name)] = '\0';
		if (!event_number(text, &number))
			event_line_problem(l, "not a time:", text);
		return number * unit->value;
	}
	event_line_problem(l, "a time without unit:", text);
	return 0;
}

static bool find_word(struct event_line *l, const struct event_word *words, const char *name,
		      uint32_t *value)
{
	for (; words->name; words++) {
		if (strcmp(words->name, name) == 0) {
			*value = words->value;
			return true;
		}
	}
	event_line_problem(l, "unknown word:", name);
	return false;
}

uint32_t event_line_word(struct event_line *l, const char *key, const struct event_word *words,
			 uint32_t otherwise)
{
	const char *name = event_line_text(l, key);
	uint32_t value = otherwise;

	if (name)
		find_word(l, words, name, &value);
	return value;
}

size_t event_line_words(struct event_line *l, const char *key, const struct event_word *words,
			uint8_t *values, size_t max)
{
	char *rest = NULL, *list = event_line_text(l, key);
	size_t count = 0;

	for (char *name = list ? strtok_r(list, ",", &rest) : NULL; name;
	     name = strtok_r(NULL, ",", &rest)) {
		uint32_t value = 0;

		if (count == max || !find_word(l, words, name, &value)) {
			event_line_problem(l, "too many:", name);
			break;
		}
		values[count++] = (uint8_t)value;
	}
	return count;
}

uint8_t event_line_flags(struct event_line *l, const struct event_word *words)
{
	uint8_t values[8], flags = 0;
	size_t count = event_line_words(l, "flags", words, values, sizeof(values));

	for (size_t i = 0; i < count; i++)
		flags |= values[i];
	return flags;
}

size_t event_line_numbers(struct event_line *l, const char *key, uint64_t *numbers, size_t max)
{
	char *rest = NULL, *list = event_line_text(l, key);
	size_t count = 0;

	for (char *text = list ? strtok_r(list, ",:", &rest) : NULL; text;
	     text = strtok_r(NULL, ",:", &rest)) {
		if (count == max || !event_number(text, &numbers[count])) {
			event_line_problem(l, "not a number, or too many:", text);
			break;
		}
		count++;
	}
	return count;
}

size_t event_text_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		const char *at = from + 2;
		uint64_t byte;

		if (from[0] == '\\' && from[1] == 'x' && from[2] && from[3] &&
		    text_scan_hex(&at, from + 4, &byte)) {
			*to = (char)byte;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	return (size_t)(to - text);
}

void event_line_finish(struct event_line *l)
{
	for (size_t i = 0; i < l->count; i++) {
		if (!l->fields[i].is_taken)
			event_line_problem(l, "unknown field:", l->fields[i].key);
	}
}
