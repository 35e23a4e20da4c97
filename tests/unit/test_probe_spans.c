/* SPDX-License-Identifier: MIT */
/* Markers of user probes become spans where their names form a pair. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/model/meaning/marker_completion.h"
#include "tests/unit/test.h"

static void add_probe(struct profile *p, uint64_t time, const char *name)
{
	_cleanup_free_ char *full = xasprintf("usdt %s", name);
	const struct schema schema = {
		.name = strings_intern(&p->strings, full),
		.chart_label = NO_STRING,
		.table_label = NO_STRING,
		.tooltip_label = NO_STRING,
	};
	schema_id id = schemas_intern(&p->markers.schemas, &schema, NULL);

	vec_push(&p->threads.rows.items[0].markers, markers_make(&p->markers, id, time, time));
}

/* Checks the spans of a thread that passes such probes, one a nanosecond: "NAME START-END ". */
static void check(const char *probes, const char *expected)
{
	_cleanup_free_ char *words = xstrdup(probes);
	struct profile *p = profile_new();
	struct strbuf spans = {0};
	uint64_t time = 0;

	threads_add(&p->threads, &(struct profile_thread){.pid = 1});
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		add_probe(p, ++time, word);
	probe_spans_join(p);
	vec_for_each(&p->threads.rows.items[0].markers, const struct marker *, marker) {
		if (marker->end > marker->start)
			strbuf_addf(&spans, "%s %d-%d ",
				    strings_get(&p->strings, marker->name) + strlen("usdt "),
				    (int)marker->start, (int)marker->end);
	}
	assert_string_equal(strbuf_text(&spans), expected);
	strbuf_release(&spans);
	profile_free(p);
}

TEST(pairs_are_spans)
{
	check("pg:query__start pg:query__done", "pg:query__start 1-2 ");
	check("x:gc-begin x:gc-end x:f__entry x:f__return", "x:gc-begin 1-2 x:f__entry 3-4 ");
	check("pg:lock__wait__start pg:wait__start pg:wait__done pg:lock__wait__done",
	      "pg:lock__wait__start 1-4 pg:wait__start 2-3 ");
}

TEST(calls_nest)
{
	check("x:f__entry x:f__entry x:f__return x:f__return", "x:f__entry 1-4 x:f__entry 2-3 ");
	check("x:f__entry x:g__entry x:g__return x:f__return", "x:f__entry 1-4 x:g__entry 2-3 ");
	/* The inner call ended by another way. */
	check("x:f__entry x:g__entry x:f__return x:g__return", "x:f__entry 1-3 ");
}

TEST(others_are_instants)
{
	check("pg:query__start other:query__done", "");
	check("pg:query__done pg:query__start", "");
	check("x:restart x:done", "");
	check("x:start x:plain x:step", "");
}
