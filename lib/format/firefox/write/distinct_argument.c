/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/distinct_argument.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/index.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"

#define TEXT_MAX 24 /* bytes; titles are read at a glance */
#define ROLE_MAX 56 /* of a program's own title */
#define ELLIPSIS "\xe2\x80\xa6"

/* An argument and the number of command lines that contain it. */
struct word {
	const char *text;
	uint32_t count;
	uint32_t last_line; /* last line that contained it, plus 1 */
};

struct words {
	VEC(struct word) rows;
	struct index index;
	uint32_t line_count; /* lines with known arguments */
};

static bool equal_text(const void *table, uint32_t id, const void *key)
{
	return strcmp(((const struct words *)table)->rows.items[id].text, key) == 0;
}

static uint64_t hash_text(const char *text)
{
	return hash_bytes(text, strlen(text), 0);
}

static struct word *find_word(const struct words *w, const char *text)
{
	uint32_t id = index_find(&w->index, hash_text(text), equal_text, w, text);

	return id == INDEX_NONE ? NULL : &w->rows.items[id];
}

static void count_word(struct words *w, const char *text, uint32_t line)
{
	struct word *word = find_word(w, text);

	if (!word) {
		index_add(&w->index, hash_text(text), (uint32_t)w->rows.count);
		vec_push(&w->rows, (struct word){.text = text});
		word = &vec_last(&w->rows);
	}
	if (word->last_line != line + 1)
		word->count++;
	word->last_line = line + 1;
}

/* Returns the argument after `text`, or NULL. The first call gives the program. */
static const char *next_argument(const struct command_line *line, const char *text)
{
	const char *next = text ? text + strlen(text) + 1 : line->list;

	return (size_t)(next - line->list) < line->size ? next : NULL;
}

static bool names_dependencies(const char *option)
{
	static const char *const options[] = {"-MF", "-MT", "-MQ", "-MD", "-MMD"};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		if (strcmp(option, options[i]) == 0)
			return true;
	}
	return false;
}

static bool is_folder_itself(const char *text)
{
	return strcmp(text, ".") == 0 || strcmp(text, "..") == 0;
}

/*
 * Returns the first argument that at most `limit` lines contain, but no option: the first of those
 * goes to *option. NULL: none.
 */
static const char *choose_among(const struct words *w, const struct command_line *line,
				uint32_t limit, const char **option)
{
	const char *before = next_argument(line, NULL);

	for (const char *at = before; (at = next_argument(line, at)); before = at) {
		if (!*at || is_folder_itself(at) || find_word(w, at)->count > limit)
			continue;
		if (*at != '-' && !names_dependencies(before))
			return at;
		if (!*option)
			*option = at;
	}
	return NULL;
}

static const char *choose(const struct words *w, const struct command_line *line)
{
	const char *option = NULL, *argument = NULL;

	if (!line->size)
		return NULL;
	/* An argument that most lines share says little. */
	argument = choose_among(w, line, w->line_count / 2, &option);
	if (!argument)
		argument = choose_among(w, line, w->line_count - 1, &option);
	return argument ? argument : option;
}

/*
 * Returns the role in a title that a program has put in place of its arguments, "worker process" of
 * "nginx: worker process"; NULL if they are arguments.
 */
static const char *find_role(const struct command_line *line)
{
	const char *program = next_argument(line, NULL);
	const char *colon = program ? strstr(program, ": ") : NULL;

	return colon && !next_argument(line, program) ? colon + 2 : NULL;
}

/* Clips between characters. */
static size_t clip_end(const char *text, size_t size)
{
	while (size && ((unsigned char)text[size] & 0xc0) == 0x80)
		size--;
	return size;
}

static size_t clip_start(const char *text, size_t at)
{
	while (((unsigned char)text[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static bool is_path(const char *text)
{
	return *text != '-' && strchr(text, '/') && !text[strcspn(text, " \t\n")];
}

/* Appends a path's name with its last `folders` folders; of other texts, the beginning. */
static void shorten(struct strbuf *out, const char *text, unsigned int folders, size_t max)
{
	size_t size = strlen(text), start;
	char *line;

	while (size > 1 && text[size - 1] == '/')
		size--;
	start = is_path(text) && size > 1 ? size : 0;
	while (start && (text[start - 1] != '/' || folders--))
		start--;
	line = xstrndup(text + start, size - start);
	text_to_line(line);
	size -= start;
	strbuf_reset(out);
	if (size <= max) {
		strbuf_add(out, line, size);
	} else if (is_path(text)) {
		strbuf_adds(out, ELLIPSIS);
		strbuf_adds(out, line + clip_start(line, size - (max - 1)));
	} else {
		strbuf_add(out, line, clip_end(line, max - 1));
		strbuf_adds(out, ELLIPSIS);
	}
	free(line);
}

struct choice {
	const char *argument;
	struct strbuf *text;
	size_t line;
};

static int compare_choices(const void *a, const void *b)
{
	const struct choice *left = a, *right = b;
	int result = strcmp(strbuf_text(left->text), strbuf_text(right->text));

	if (!result)
		result = strcmp(left->argument, right->argument);
	return result ? result : (left->line > right->line) - (left->line < right->line);
}

/* Resolves "util.c" of two folders to "a/util.c" and "b/util.c". */
static void lengthen_equals(struct choice *choices, size_t count)
{
	if (count > 1)
		qsort(choices, count, sizeof(*choices), compare_choices);
	for (size_t i = 0, end; i < count; i = end) {
		bool differs = false;

		for (end = i + 1; end < count; end++) {
			if (strcmp(strbuf_text(choices[i].text), strbuf_text(choices[end].text)) !=
			    0)
				break;
			differs |= strcmp(choices[i].argument, choices[end].argument) != 0;
		}
		for (size_t at = i; differs && at < end; at++) {
			if (is_path(choices[at].argument))
				shorten(choices[at].text, choices[at].argument, 1, TEXT_MAX);
		}
	}
}

void distinct_arguments(const struct command_line *lines, size_t count, struct strbuf *texts)
{
	_cleanup_free_ struct choice *choices = xcalloc(count + 1, sizeof(*choices));
	struct words words = {0};
	size_t chosen = 0;

	for (size_t i = 0; i < count; i++) {
		words.line_count += lines[i].size != 0;
		for (const char *at = NULL; (at = next_argument(&lines[i], at));)
			count_word(&words, at, (uint32_t)i);
	}
	for (size_t i = 0; i < count; i++) {
		const char *role = find_role(&lines[i]);
		const char *argument = role ? role : choose(&words, &lines[i]);

		if (!argument)
			continue;
		shorten(&texts[i], argument, 0, role ? ROLE_MAX : TEXT_MAX);
		choices[chosen++] = (struct choice){argument, &texts[i], i};
	}
	lengthen_equals(choices, chosen);
	vec_release(&words.rows);
	index_release(&words.index);
}
