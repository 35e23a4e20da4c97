/* SPDX-License-Identifier: MIT */
#include "lib/base/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Takes the text up to the closing quote and leaves `at` after it; false if none. */
static bool take_quoted(const char **at, char quote, struct strbuf *word)
{
	for (; **at && **at != quote; ++*at) {
		/* In double quotes, a backslash means something before these alone. */
		if (quote == '"' && **at == '\\' && (*at)[1] && strchr("\"\\$`", (*at)[1]))
			++*at;
		strbuf_addch(word, **at);
	}
	if (!**at)
		return false;
	++*at;
	return true;
}

static bool take_word(const char **at, struct strbuf *word)
{
	while (**at && !is_blank(**at)) {
		char c = *(*at)++;

		if (c == '\'' || c == '"') {
			if (!take_quoted(at, c, word))
				return false;
		} else if (c == '\\') {
			if (!**at)
				return false;
			strbuf_addch(word, *(*at)++);
		} else {
			strbuf_addch(word, c);
		}
	}
	return true;
}

char **words_split(const char *text)
{
	struct {
		VEC(char *) list;
	} words = {0};
	bool is_complete = true;

	while (is_complete && *(text += strspn(text, " \t\n"))) {
		struct strbuf word = {0};

		is_complete = take_word(&text, &word);
		vec_push(&words.list, strbuf_take(&word));
	}
	vec_push(&words.list, NULL);
	if (is_complete && words.list.items[0])
		return words.list.items;
	words_free(words.list.items);
	return NULL;
}

void words_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}
