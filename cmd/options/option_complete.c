/* SPDX-License-Identifier: MIT */
#include "cmd/options/option_table.h"

/* Returns the index of the option whose value is the next word, or the number of rows. */
static size_t find_waiting(const struct option_table *t, const char *word)
{
	size_t i;

	for (i = 0; i < t->rows.count; i++) {
		const struct option_row *row = &t->rows.items[i].row;

		if (!row->name || !row->argument || option_is_optional(row))
			continue;
		if ((strncmp(word, "--", 2) == 0 && !strcmp(word + 2, row->name)) ||
		    (row->letter && word[0] == '-' && word[1] == row->letter && !word[2]))
			break;
	}
	return i;
}

/* True if the word contains this option, which may be given only once. */
static bool is_given(const struct option_row *row, const char *word)
{
	size_t size = strlen(row->name);

	if (row->type == OPTION_CALL || row->type == OPTION_COUNTED)
		return false;
	if (strncmp(word, "--", 2) == 0)
		return strncmp(word + 2, row->name, size) == 0 &&
		       (!word[size + 2] || word[size + 2] == '=');
	return row->letter && word[0] == '-' && word[1] == row->letter;
}

static bool is_list(const struct option_row *row)
{
	return strcmp(row->argument, "LIST") == 0 || strstr(row->argument, "[,...]");
}

/* True if the list contains this value, without its description, at an earlier position. */
static bool is_listed(const char *list, size_t list_size, const char *value)
{
	size_t size = strcspn(value, "\t");

	for (const char *at = list; at < list + list_size; at += strcspn(at, ",") + 1) {
		if (strncmp(at, value, size) == 0 && at[size] == ',')
			return true;
	}
	return false;
}

/* `before`: the part of the word that precedes the value. */
static void complete_value(const struct option_row *row, const char *before, const char *word,
			   struct strbuf *out)
{
	const char *const *value = row->live ? row->live() : option_choices(row);
	const char *comma = is_list(row) ? strrchr(word, ',') : NULL;
	size_t list_size = comma ? (size_t)(comma + 1 - word) : 0;

	for (; *value; value++) {
		if (text_starts_with(*value, word + list_size) &&
		    !is_listed(word, list_size, *value))
			strbuf_addf(out, "%s%.*s%s\n", before, (int)list_size, word, *value);
	}
	if (strcmp(row->argument, "DIR") == 0)
		strbuf_adds(out, ":folders\n");
	else if (strcmp(row->argument, "FILE") == 0 || strcmp(row->argument, "OUT") == 0)
		strbuf_adds(out, ":files\n");
}

/* Appends an option, with the first line of its help as description. */
static void add_option(const struct option_row *row, const char *name, struct strbuf *out)
{
	const char *help = row->help ? row->help : "";
	int size = (int)strcspn(help, "\n@;");

	while (size && strchr(" :,", help[size - 1]))
		size--;
	strbuf_addf(out, "%s%s%.*s\n", name, size ? "\t" : "", size, help);
}

static void complete_option(const struct option_table *t, int count, char *const *words,
			    struct strbuf *out)
{
	const char *word = words[count - 1], *equals = strchr(word, '=');
	_cleanup_free_ char *before = equals ? xstrndup(word, (size_t)(equals - word) + 1) : NULL;

	for (size_t i = 0; i < t->rows.count; i++) {
		const struct option_row *row = &t->rows.items[i].row;
		_cleanup_free_ char *name = xasprintf("--%s%s", row->name ? row->name : "",
						      equals ? "=" : "");
		bool is_new = row->name;

		for (int j = 0; is_new && j < count - 1; j++)
			is_new = !is_given(row, words[j]);
		if (row->name && row->argument && equals && strcmp(name, before) == 0)
			complete_value(row, before, equals + 1, out);
		else if (is_new && !equals && text_starts_with(name, word))
			add_option(row, name, out);
	}
}

static void complete_operand(const struct option_table *t, const char *word, struct strbuf *out)
{
	const char *const *value = t->operands ? t->operands() : NULL;

	if (!value)
		strbuf_adds(out, ":files\n");
	for (; value && *value; value++) {
		if (text_starts_with(*value, word))
			strbuf_addf(out, "%s\n", *value);
	}
}

void option_table_complete(const struct option_table *t, int count, char *const *words,
			   struct strbuf *out)
{
	size_t none = t->rows.count, waiting = none;
	const char *word = words[count - 1];
	bool is_divided = false;
	int i;

	for (i = 0; i < count - 1; i++) {
		bool is_value = waiting < none;

		waiting = none;
		if (is_value || is_divided)
			continue;
		is_divided = strcmp(words[i], "--") == 0;
		if (t->runs && (is_divided || words[i][0] != '-'))
			break;
		waiting = find_waiting(t, words[i]);
	}
	if (waiting < none)
		complete_value(&t->rows.items[waiting].row, "", word, out);
	else if (t->runs && (i < count - 1 || word[0] != '-'))
		strbuf_addf(out, ":command %d\n", i + is_divided);
	else if (word[0] == '-' && !is_divided)
		complete_option(t, count, words, out);
	else
		complete_operand(t, word, out);
}
