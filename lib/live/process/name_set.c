/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "lib/live/process/filter.h"

#define WORD_BITS 64

/* A pattern before its states are placed in the set. */
struct pattern {
	uint64_t loops; /* bit per state */
	uint64_t accepted[256];
	unsigned int size; /* elements without stars */
};

static void accept(struct pattern *p, uint8_t c)
{
	if (c)
		p->accepted[c] |= 1ull << p->size;
}

/* Parses a class from after "[" up to and with "]". NULL if there is no "]". */
static const char *parse_class(struct pattern *p, const char *at)
{
	bool wanted[256] = {0}, negated = *at == '!' || *at == '^';
	const char *first = at += negated;

	while (*at && (*at != ']' || at == first)) {
		uint8_t low = (uint8_t)*at++, high = low;

		if (*at == '-' && at[1] && at[1] != ']') {
			high = (uint8_t)at[1];
			at += 2;
		}
		for (unsigned int c = low; c <= high; c++)
			wanted[c] = true;
	}
	if (!*at)
		return NULL;
	for (unsigned int c = 1; c < 256; c++) {
		if (wanted[c] != negated)
			accept(p, (uint8_t)c);
	}
	return at + 1;
}

static const char *parse_element(struct pattern *p, const char *at)
{
	if (*at == '?') {
		for (unsigned int c = 1; c < 256; c++)
			accept(p, (uint8_t)c);
		return at + 1;
	}
	if (*at == '[')
		return parse_class(p, at + 1);
	if (*at == '\\' && at[1])
		at++;
	accept(p, (uint8_t)*at);
	return at + 1;
}

static int parse(struct pattern *p, const char *text, struct error *err)
{
	bool is_plain = !text[strcspn(text, "*?[\\")];
	const char *at = text;

	while (*at) {
		if (*at == '*') {
			p->loops |= 1ull << p->size;
			at++;
			continue;
		}
		if (is_plain && p->size == NAME_LENGTH_MAX)
			break;
		if (p->size == WORD_BITS - 1)
			return error_text(err, -E2BIG, "%s: longer than a name can be", text);
		at = parse_element(p, at);
		if (!at)
			return error_text(err, -EINVAL, "%s: [ without ]", text);
		p->size++;
	}
	return 0;
}

/* Returns the number of states in use in the word; stores each pattern's last state in `ends`. */
static unsigned int used(const struct name_set *set, unsigned int word)
{
	return set->ends[word] ? WORD_BITS - (unsigned int)__builtin_clzll(set->ends[word]) : 0;
}

int name_set_add(struct name_set *set, const char *pattern, struct error *err)
{
	struct pattern p = {0};
	unsigned int word = 0, first;
	int ret = *pattern ? parse(&p, pattern, err)
			   : error_text(err, -EINVAL, "a name must not be empty");

	if (ret)
		return ret;
	while (word < NAME_WORDS && used(set, word) + p.size + 1 > WORD_BITS)
		word++;
	if (word == NAME_WORDS)
		return error_text(err, -E2BIG, "%s: too many names", pattern);
	first = used(set, word);
	set->starts[word] |= 1ull << first;
	set->loops[word] |= p.loops << first;
	set->ends[word] |= 1ull << (first + p.size);
	for (unsigned int c = 1; c < 256; c++)
		set->accepted[c][word] |= p.accepted[c] << first;
	return 0;
}
