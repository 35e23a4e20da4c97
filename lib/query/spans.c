/* SPDX-License-Identifier: MIT */
#include "lib/query/spans.h"

#include <errno.h>
#include <fnmatch.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

/* known: 2 for names that match, 1 for others, 0 until asked. */
static bool matches(const struct profile *p, string_id name, const char *glob, uint8_t *known)
{
	if (name >= p->strings.rows.count)
		return fnmatch(glob, "", 0) == 0;
	if (!known[name])
		known[name] = fnmatch(glob, strings_get(&p->strings, name), 0) == 0 ? 2 : 1;
	return known[name] == 2;
}

static int compare(const void *a, const void *b)
{
	const struct query_span *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static void join(struct query_spans *s)
{
	size_t kept = 0;

	vec_sort(&s->rows, compare);
	for (size_t i = 0; i < s->rows.count; i++) {
		const struct query_span *row = &s->rows.items[i];
		struct query_span *last = kept ? &s->rows.items[kept - 1] : NULL;

		if (!last || row->from > last->until)
			s->rows.items[kept++] = *row;
		else if (row->until > last->until)
			last->until = row->until;
	}
	s->rows.count = kept;
}

int query_spans_find(struct query_spans *s, const struct profile *p, const char *glob,
		     struct error *err)
{
	_cleanup_free_ uint8_t *known = NULL;
	bool is_found = false;

	*s = (struct query_spans){0};
	if (!glob)
		return 0;
	known = xcalloc(p->strings.rows.count + 1, 1);
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->markers, const struct marker *, marker) {
			if (!matches(p, marker->name, glob, known))
				continue;
			is_found = true;
			if (marker->end > marker->start)
				vec_push(&s->rows, (struct query_span){marker->start, marker->end});
		}
	}
	join(s);
	if (s->rows.count)
		return 0;
	return error_text(err, -ENOENT,
			  is_found ? "--during %s: such markers are moments and do not last"
				   : "--during %s: the profile has no such marker",
			  glob);
}

void query_spans_release(struct query_spans *s)
{
	vec_release(&s->rows);
}

bool query_spans_have(const struct query_spans *s, uint64_t time, size_t *at)
{
	while (*at < s->rows.count && s->rows.items[*at].until <= time)
		++*at;
	return *at < s->rows.count && s->rows.items[*at].from <= time;
}
