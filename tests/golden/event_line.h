/* SPDX-License-Identifier: MIT */
/* A line of events: its kind, and fields fetched by name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EVENT_FIELDS_MAX 64

struct event_field {
	char *key, *value;
	bool is_taken;
};

struct event_line {
	char *kind; /* NULL: an empty line or a comment */
	struct event_field fields[EVENT_FIELDS_MAX];
	size_t count;
	char problem[128]; /* the first problem; empty: none */
};

/* A flag or a number by name. */
struct event_word {
	const char *name;
	uint32_t value;
};

/* Cuts `text`, which must live as long as the line. */
void event_line_split(struct event_line *l, char *text);
/* Takes the first field of that name that is not taken yet, or NULL. */
char *event_line_text(struct event_line *l, const char *key);
uint64_t event_line_number(struct event_line *l, const char *key, uint64_t otherwise);
/* ns */
uint64_t event_line_time(struct event_line *l, const char *key);
/* Takes one of the words; `words` ends with a row without a name. */
uint32_t event_line_word(struct event_line *l, const char *key, const struct event_word *words,
			 uint32_t otherwise);
/* Takes any of the words, combined by or. */
uint8_t event_line_flags(struct event_line *l, const struct event_word *words);
/* Functions for lists return the length. */
size_t event_line_numbers(struct event_line *l, const char *key, uint64_t *numbers, size_t max);
size_t event_line_words(struct event_line *l, const char *key, const struct event_word *words,
			uint8_t *values, size_t max);
/* Replaces \xNN by the byte; returns the size. */
size_t event_text_unescape(char *text);
bool event_number(const char *text, uint64_t *number);
void event_line_problem(struct event_line *l, const char *what, const char *which);
/* Reports fields that were not taken. */
void event_line_finish(struct event_line *l);
