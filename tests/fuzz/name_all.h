/* SPDX-License-Identifier: MIT */
/* Asks a symbolizer for many addresses at once, and reads everything that its answers refer to. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "symbolize/symbolizer.h"

/* The seeds' code lies below. */
#define NAME_ALL_RVAS 1024

/* Returns the name's size; 0 for no name. */
static inline size_t name_all_touch_name(const char *name)
{
	if (name && !name[0])
		abort();
	return name ? strlen(name) : 0;
}

static inline size_t name_all_touch(const struct answer *answer)
{
	size_t sum = name_all_touch_name(answer->func);

	for (size_t i = 0; i < answer->depth; i++) {
		sum += name_all_touch_name(answer->chain[i].func);
		sum += answer->chain[i].file ? strlen(answer->chain[i].file) : 0;
	}
	return sum;
}

/* Returns the number of addresses with a function or a line. */
static inline size_t name_all(const struct symbolizer_ops *ops,
			      const struct symbolizer_input *input)
{
	static struct answer answers[NAME_ALL_RVAS];
	static uint64_t rvas[NAME_ALL_RVAS];
	static volatile size_t sum;
	struct symbolizer *s;
	size_t found = 0;

	if (ops->open(&s, input, NULL) != 0)
		return 0;
	memset(answers, 0, sizeof(answers));
	for (size_t i = 0; i < NAME_ALL_RVAS; i++)
		rvas[i] = i;
	rvas[NAME_ALL_RVAS - 1] = UINT64_MAX;
	s->ops->lookup(s, rvas, NAME_ALL_RVAS, answers);
	for (size_t i = 0; i < NAME_ALL_RVAS; i++) {
		sum += name_all_touch(&answers[i]);
		found += answers[i].func || answers[i].depth;
	}
	s->ops->free(s);
	return found;
}
