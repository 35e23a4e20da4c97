/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/probe_spans.h"

/* Last words of the names of a pair. */
static const struct {
	const char *first, *second;
} pairs[] = {
	{"start", "done"},   {"start", "end"},	 {"start", "stop"},   {"start", "finish"},
	{"begin", "end"},    {"begin", "done"},	 {"entry", "return"}, {"entry", "exit"},
	{"enter", "return"}, {"enter", "leave"},
};

/* By schema_id: the schema of the second probe of a pair, and the inverse. */
struct partners {
	schema_id *second, *first; /* NO_SCHEMA: none */
};

/* Returns the size of the name before its last word and the separator; 0: no such word. */
static size_t size_before(const char *name, const char *word)
{
	size_t size = strlen(name), end = strlen(word), begin;

	if (size <= end || strcmp(name + size - end, word) != 0)
		return 0;
	begin = size -= end;
	while (begin && (name[begin - 1] == '_' || name[begin - 1] == '-'))
		begin--;
	return begin < size ? begin : 0;
}

static schema_id find_second(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		size_t size = size_before(name, pairs[i].first);

		for (schema_id id = 0; size && id < p->markers.schemas.rows.count; id++) {
			const char *other = strings_get(&p->strings,
							schemas_get(&p->markers.schemas, id)->name);

			if (strncmp(name, other, size) == 0 &&
			    size_before(other, pairs[i].second) == size)
				return id;
		}
	}
	return NO_SCHEMA;
}

static bool find_partners(const struct profile *p, struct partners *partners)
{
	size_t count = p->markers.schemas.rows.count;
	bool has_pairs = false;

	for (schema_id id = 0; id < count; id++)
		partners->first[id] = partners->second[id] = NO_SCHEMA;
	for (schema_id id = 0; id < count; id++) {
		const char *name = strings_get(&p->strings,
					       schemas_get(&p->markers.schemas, id)->name);
		schema_id second = text_starts_with(name, USDT_SCHEMA_PREFIX) ? find_second(p, name)
									      : NO_SCHEMA;

		if (second == NO_SCHEMA || partners->first[second] != NO_SCHEMA)
			continue;
		partners->second[id] = second;
		partners->first[second] = id;
		has_pairs = true;
	}
	return has_pairs;
}

ORDER(compare_starts, struct marker *const, COMPARE((*a)->start, (*b)->start) ?: COMPARE(*a, *b))

struct marker_list {
	VEC(struct marker *) rows;
};

/* Extends the latest open marker of the schema. Those inside of it have lost their second probe. */
static void close_span(struct marker_list *open, schema_id first, uint64_t end)
{
	for (size_t i = open->rows.count; i-- > 0;) {
		if (open->rows.items[i]->schema != first)
			continue;
		open->rows.items[i]->end = end;
		open->rows.count = i;
		return;
	}
}

static void join_thread(struct profile_thread *thread, const struct partners *partners)
{
	struct marker_list probes = {0}, open = {0};

	vec_for_each(&thread->markers, struct marker *, marker) {
		if (partners->first[marker->schema] != NO_SCHEMA ||
		    partners->second[marker->schema] != NO_SCHEMA)
			vec_push(&probes.rows, marker);
	}
	vec_sort(&probes.rows, compare_starts);
	vec_for_each(&probes.rows, struct marker **, probe) {
		if (partners->second[(*probe)->schema] != NO_SCHEMA)
			vec_push(&open.rows, *probe);
		else
			close_span(&open, partners->first[(*probe)->schema], (*probe)->start);
	}
	vec_release(&probes.rows);
	vec_release(&open.rows);
}

void probe_spans_join(struct profile *p)
{
	size_t count = p->markers.schemas.rows.count;
	_cleanup_free_ schema_id *first = xcalloc(count + 1, sizeof(*first));
	_cleanup_free_ schema_id *second = xcalloc(count + 1, sizeof(*second));
	struct partners partners = {.first = first, .second = second};

	if (!find_partners(p, &partners))
		return;
	vec_for_each(&p->threads.rows, struct profile_thread *, thread)
		join_thread(thread, &partners);
}
