/* SPDX-License-Identifier: MIT */
#include "tests/golden/events.h"

#include <errno.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/golden/event_line.h"
#include "tests/golden/record_text.h"

static void parse_end(struct events *e, struct event_line *l)
{
	static const struct event_word flags[] = {{"cpus", 1}, {NULL, 0}};

	e->end_ns = EVENTS_START_NS + event_line_time(l, "time");
	e->cpus = event_line_flags(l, flags);
}

static char *text_field(struct event_line *l, const char *key)
{
	char *text = event_line_text(l, key);

	if (text)
		event_text_unescape(text);
	return text;
}

static void parse_answer(struct events *e, struct event_line *l)
{
	struct events_answer answer = {
		.module = text_field(l, "module"),
		.offset = event_line_number(l, "offset", 0),
		.symbol = text_field(l, "symbol"),
		.symbol_start = event_line_number(l, "start", 0),
		.symbol_size = event_line_number(l, "size", 0),
	};

	if (answer.module && strcmp(answer.module, "none") == 0)
		answer.module = NULL;
	for (char *func; (func = text_field(l, "func")) && answer.depth < EVENTS_CHAIN_MAX;) {
		struct events_name *name = &answer.chain[answer.depth++];

		name->func = func;
		name->file = text_field(l, "file");
		name->line = (uint32_t)event_line_number(l, "line", 0);
		name->start_line = (uint32_t)event_line_number(l, "from", 0);
	}
	vec_push(&e->answers, answer);
}

static void parse_record(struct events *e, struct event_line *l, unsigned int kind)
{
	uint64_t record[RECORD_TEXT_SIZE_MAX / 8] = {0};
	struct record_text t = {.line = l, .record = (uint8_t *)record};

	record_text_read(&t, kind);
	memcpy(vec_add_zeroed(&e->words, t.size / 8), record, t.size);
}

static void parse_line(struct events *e, struct event_line *l)
{
	unsigned int kind = record_text_kind(l->kind);

	if (kind)
		parse_record(e, l, kind);
	else if (strcmp(l->kind, "end") == 0)
		parse_end(e, l);
	else if (strcmp(l->kind, "answer") == 0)
		parse_answer(e, l);
	else
		event_line_problem(l, "unknown kind:", l->kind);
	event_line_finish(l);
}

int events_parse(struct events *e, const char *text, struct error *err)
{
	char *copy = xstrdup(text), *rest = copy;
	struct event_line line;
	int number = 0;

	/* Answers refer to it. */
	vec_push(&e->texts, copy);
	for (char *at; (at = strsep(&rest, "\n"));) {
		number++;
		event_line_split(&line, at);
		if (line.kind && !line.problem[0])
			parse_line(e, &line);
		if (line.problem[0])
			return error_text(err, -EINVAL, "line %d: %s", number, line.problem);
	}
	return 0;
}

void events_release(struct events *e)
{
	vec_for_each(&e->texts, char **, text)
		free(*text);
	vec_release(&e->texts);
	vec_release(&e->words);
	vec_release(&e->answers);
}

const struct rec *events_next(const struct events *e, size_t *word)
{
	const struct rec *rec = (const struct rec *)(e->words.items + *word);

	if (*word >= e->words.count)
		return NULL;
	*word += rec->words;
	return rec;
}

static int check_text(const struct rec *rec, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	_cleanup_(events_release) struct events again = {0};
	const size_t size = rec->words * 8u;
	int result;

	record_text_print(&text, rec);
	result = events_parse(&again, text.text, err);
	if (!result && (again.words.count * 8 != size || memcmp(again.words.items, rec, size) != 0))
		result = error_text(err, -EINVAL, "printed and read again differs: %s", text.text);
	return result;
}

int events_check_text(const struct events *e, struct error *err)
{
	const struct rec *rec;
	size_t word = 0;
	int result = 0;

	while (!result && (rec = events_next(e, &word)))
		result = record_is_valid(rec, rec->words * 8u) ? check_text(rec, err) : 0;
	return result;
}
