/* SPDX-License-Identifier: MIT */
/* Texts that a person types: what is searched for, and options of prof report. */
#include <errno.h>
#include <string.h>

#include "cmd/browse/screen.h"
#include "cmd/browse/term.h"
#include "cmd/command.h"
#include "cmd/options/query_options.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

/* Splits words at blanks; quotes keep them together. They are the model's. */
static void split(struct screen *s, const char *text, char **words, size_t room, int *count)
{
	_cleanup_(strbuf_release) struct strbuf word = {0};
	bool is_word = false;
	char quote = 0;

	for (; *count + 1 < (int)room; text++) {
		if (*text &&
		    (quote ? *text != quote : *text != ' ' && *text != '\'' && *text != '"')) {
			strbuf_addch(&word, *text);
			is_word = true;
		} else if (*text == '\'' || *text == '"') {
			quote = quote ? 0 : *text;
			is_word = true;
		} else {
			if (is_word)
				words[(*count)++] = (char *)model_keep(&s->model,
								       strbuf_text(&word));
			word.size = 0;
			is_word = false;
			if (!*text)
				break;
		}
	}
	words[*count] = NULL;
}

static void fill_options(struct option_table *t, void *ctx)
{
	option_table_add(t, query_options, ctx);
}

/* Takes options of prof report. */
static void take_options(struct screen *s, const char *text)
{
	static char name[] = "filter";
	struct query_filter filter = *model_filter(&s->model);
	char *words[64] = {name};
	struct error err = {0};
	int count = 1;

	/* getopt() begins anew. */
	optind = 0;
	split(s, text, words, sizeof(words) / sizeof(*words), &count);
	if (command_parse(count, words, fill_options, &filter, &err) || optind < count) {
		screen_say(s, "%s", err.code ? err.text : "only options are understood here");
		return;
	}
	model_push(&s->model, &filter);
	screen_update(s);
}

static bool is_found(void *ctx, const char *name)
{
	const struct rows *r = ctx;

	return r->has_regex && regexec(&r->regex, name, 0, NULL, 0) == 0;
}

void screen_find(struct screen *s, int direction)
{
	struct rows *r = &s->rows[s->view];
	struct rows_source rows;
	bool found;

	screen_rows(s, &rows);
	if (!r->has_regex) {
		screen_say(s, "nothing is searched for: / asks");
		return;
	}
	found = s->view == VIEW_FLAME ? flame_find(&s->flame, &s->model, is_found, r, direction)
				      : rows.count && rows_find(r, &rows, direction);
	if (!found)
		screen_say(s, "not found");
}

static void search(struct screen *s, const char *text)
{
	struct error err = {0};

	for (int i = 0; i < VIEW_COUNT; i++) {
		if (rows_search(&s->rows[i], text, &err)) {
			screen_say(s, "%s", err.text);
			return;
		}
	}
	if (*text)
		screen_find(s, 1);
}

static void end_prompt(struct screen *s)
{
	_cleanup_free_ char *text = xstrdup(strbuf_text(&s->typed));
	char prompt = s->prompt;

	s->prompt = 0;
	if (prompt == '/')
		search(s, text);
	else
		take_options(s, text);
}

static void add_character(struct strbuf *out, uint32_t point)
{
	if (point < 0x80) {
		strbuf_addch(out, (char)point);
	} else if (point < 0x800) {
		strbuf_addch(out, (char)(0xc0 | point >> 6));
		strbuf_addch(out, (char)(0x80 | (point & 0x3f)));
	} else {
		if (point >= 0x10000) {
			strbuf_addch(out, (char)(0xf0 | point >> 18));
			strbuf_addch(out, (char)(0x80 | (point >> 12 & 0x3f)));
		} else {
			strbuf_addch(out, (char)(0xe0 | point >> 12));
		}
		strbuf_addch(out, (char)(0x80 | (point >> 6 & 0x3f)));
		strbuf_addch(out, (char)(0x80 | (point & 0x3f)));
	}
}

void screen_type(struct screen *s, int key)
{
	struct strbuf *typed = &s->typed;

	if (key == TERM_KEY_ENTER) {
		end_prompt(s);
	} else if (key == TERM_KEY_ESCAPE || (key == TERM_KEY_DELETE && !typed->size)) {
		s->prompt = 0;
	} else if (key == TERM_KEY_DELETE) {
		while (typed->size && ((uint8_t)typed->text[typed->size - 1] & 0xc0) == 0x80)
			typed->size--;
		typed->size -= typed->size > 0;
	} else if (key == ('U' & 037)) {
		typed->size = 0;
	} else if (key >= ' ' && key < TERM_KEY_UP) {
		add_character(typed, (uint32_t)key);
	}
	if (typed->text)
		typed->text[typed->size] = '\0';
}

void screen_ask(struct screen *s, char prompt)
{
	s->prompt = prompt;
	s->typed.size = 0;
	strbuf_adds(&s->typed, "");
	if (s->typed.text)
		s->typed.text[0] = '\0';
}
