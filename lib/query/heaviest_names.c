/* SPDX-License-Identifier: MIT */
#include "lib/query/heaviest_names.h"

#include "lib/query/table.h"

#define NAMES_MAX 5

static string_id name_of(const struct query_table *table, size_t row)
{
	const struct query_key *key = &table->keys->rows.items[table->rows.items[row].key];

	return table->keys->by == QUERY_BY_THREAD ? key->thread : key->process;
}

/* Different threads may have equal names. */
static bool is_repeated(const struct query_table *table, size_t row)
{
	for (size_t i = 0; i < row; i++) {
		if (name_of(table, i) == name_of(table, row))
			return true;
	}
	return false;
}

static void list_names(const struct query *q, enum query_by by, struct strbuf *names)
{
	struct query_table table;
	size_t count = 0;

	query_table_make(&table, q, by, NULL);
	for (size_t i = 0; i < table.rows.count && count < NAMES_MAX; i++) {
		const char *name = query_keys_text(table.keys, name_of(&table, i));

		if (*name && !is_repeated(&table, i))
			strbuf_addf(names, "%s%s", count++ ? ", " : "", name);
	}
	query_table_release(&table);
}

/* Returns false if there are no names. */
static bool hint(struct error *err, const struct profile *p, const struct query_filter *filter,
		 enum query_by by)
{
	_cleanup_(strbuf_release) struct strbuf names = {0};
	struct query q;

	if (query_select(&q, p, filter, NULL))
		return false;
	list_names(&q, by, &names);
	query_release(&q);
	if (names.size)
		error_hint(err, "the heaviest %s: %s",
			   by == QUERY_BY_THREAD ? "threads" : "processes", strbuf_text(&names));
	return names.size;
}

void heaviest_names_hint(struct error *err, const struct profile *p,
			 const struct query_filter *filter)
{
	struct query_filter wider = *filter;

	wider.thread = NULL;
	if (filter->thread && hint(err, p, &wider, QUERY_BY_THREAD))
		return;
	wider.process = NULL;
	if (filter->process)
		hint(err, p, &wider, QUERY_BY_PROCESS);
}
