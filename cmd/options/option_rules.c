/* SPDX-License-Identifier: MIT */
/* Options that were given, and whether they fit together. */
#include <errno.h>
#include <string.h>

#include "cmd/options/option_expand.h"
#include "cmd/options/option_table.h"
#include "lib/base/cleanup.h"

static bool has_word(const char *words, const char *name)
{
	size_t size = strlen(name);

	for (const char *at = words; at; at = strchr(at, ' ')) {
		at += *at == ' ';
		if (strncmp(at, name, size) == 0 && (!at[size] || at[size] == ' '))
			return true;
	}
	return false;
}

/* `names` are separated by spaces. */
bool option_table_has(const struct option_table *t, const char *names)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		if (t->rows.items[i].is_given && has_word(names, t->rows.items[i].row.name))
			return true;
	}
	return false;
}

void option_table_give(struct option_table *t, const char *name)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		if (t->rows.items[i].row.name && strcmp(t->rows.items[i].row.name, name) == 0)
			t->rows.items[i].is_given = true;
	}
}

bool option_table_excludes(const struct option_table *t, const char *one, const char *other)
{
	vec_for_each(&t->rules, const struct option_rule **, it) {
		const struct option_rule *rule = *it;

		if (rule->with &&
		    ((strcmp(rule->option, one) == 0 && has_word(rule->with, other)) ||
		     (strcmp(rule->option, other) == 0 && has_word(rule->with, one))))
			return true;
	}
	return false;
}

bool option_table_lacks(const struct option_table *t, const char *name)
{
	vec_for_each(&t->rules, const struct option_rule **, it) {
		const struct option_rule *rule = *it;

		if (rule->without && strcmp(rule->option, name) == 0 &&
		    !option_table_has(t, rule->without))
			return true;
	}
	return false;
}

/* Adds "--a, --b or --c" for "a b c". */
static void add_names(struct strbuf *out, const char *names)
{
	while (*names) {
		size_t size = strcspn(names, " ");
		const char *next = names + size + (names[size] == ' ');

		strbuf_addf(out, "--%.*s%s", (int)size, names,
			    !*next		? ""
			    : strchr(next, ' ') ? ", "
						: " or ");
		names = next;
	}
}

static int fail_rule(const struct option_rule *rule, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf what = {0}, text = {0};

	strbuf_adds(&what, rule->with ? "not with " : "needs ");
	add_names(&what, rule->with ? rule->with : rule->without);
	if (!rule->text)
		strbuf_addf(&text, "--%s: ", rule->option);
	option_expand(&text, rule->text ? rule->text : "@", strbuf_text(&what), 0);
	return error_text(err, -EINVAL, "%s", strbuf_text(&text));
}

int option_table_judge(const struct option_table *t, struct error *err)
{
	vec_for_each(&t->rules, const struct option_rule **, it) {
		const struct option_rule *rule = *it;

		if (option_table_has(t, rule->option) &&
		    (!rule->with || option_table_has(t, rule->with)) &&
		    (!rule->without || !option_table_has(t, rule->without)))
			return fail_rule(rule, err);
	}
	return 0;
}
