/* SPDX-License-Identifier: MIT */
#include "lib/recording/output_name.h"

#include <time.h>

#define NUMBERS_MAX 1000000
#define NS_PER_SECOND 1000000000

/* Adds a word as a part of a file name. */
static void add_word(struct strbuf *out, const char *word)
{
	for (; *word; word++)
		strbuf_addch(out, *word == '/' ? '_' : *word);
}

static void add_time(struct strbuf *out, uint64_t realtime_ns)
{
	time_t time = (time_t)(realtime_ns / NS_PER_SECOND);
	char text[32] = "";
	struct tm when;

	if (localtime_r(&time, &when))
		strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &when);
	strbuf_adds(out, text);
}

static void add_host(struct strbuf *out)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	add_word(out, host);
}

/* Adds the value of a placeholder. False if the letter is unknown. */
static bool add_part(struct strbuf *out, char letter, const struct output_words *words,
		     unsigned int number)
{
	switch (letter) {
	case 'p':
		strbuf_addf(out, "%d", (int)words->pid);
		return true;
	case 'c':
		add_word(out, words->command);
		return true;
	case 't':
		add_time(out, words->realtime_ns);
		return true;
	case 'h':
		add_host(out);
		return true;
	case 'n':
		strbuf_addf(out, "%u", number);
		return true;
	case '%':
		strbuf_addch(out, '%');
		return true;
	default:
		return false;
	}
}

/* Returns NULL with err set on failure. *has_number: the name depends on `number`. */
static char *expand(const char *name, const struct output_words *words, unsigned int number,
		    bool *has_number, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};

	for (const char *at = name; *at; at++) {
		if (*at != '%') {
			strbuf_addch(&out, *at);
			continue;
		}
		at++;
		*has_number |= *at == 'n';
		if (!*at || !add_part(&out, *at, words, number)) {
			error_text(err, -EINVAL,
				   "--output %s: %% must be followed by p, c, t, h, n or %%", name);
			return NULL;
		}
	}
	return xstrdup(strbuf_text(&out));
}

char *output_name_expand(const char *name, const struct output_words *words, struct error *err)
{
	bool has_number = false;
	struct stat st;

	for (unsigned int number = 1;; number++) {
		char *path = expand(name, words, number, &has_number, err);

		if (!path || !has_number || number == NUMBERS_MAX || lstat(path, &st) != 0)
			return path;
		free(path);
	}
}
