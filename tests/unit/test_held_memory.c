/* SPDX-License-Identifier: MIT */
/* Memory that is held at the end, or was when most was, by the functions that allocated it. */
#include <string.h>

#include "lib/query/digest.h"
#include "tests/unit/stack_texts.h"
#include "tests/unit/test.h"

#define HANDLE "main /app main.c\nhandle /app app.c\n"

/* Adds an allocation to the first thread, with the stack of a sample. */
static void add(struct profile *p, uint64_t time, uint64_t freed, uint64_t bytes, const char *stack)
{
	struct profile_thread *thread;
	stack_id id = NO_STACK;

	stack_texts_add_sample(p, 1, stack);
	thread = threads_get(&p->threads, 0);
	samples_for_each(&thread->samples, sample)
		id = sample->stack;
	vec_push(&thread->allocations.rows,
		 ((struct allocation){.time = time, .freed = freed, .bytes = bytes, .stack = id}));
}

static void check(struct profile *p, uint64_t time, const char *expected)
{
	const struct query_filter filter = QUERY_FILTER_ALL;
	struct strbuf text = {0};
	struct held_memory h;
	struct digest d;
	struct query q;

	assert_int_equal(query_select(&q, p, &filter, NULL), 0);
	digest_make(&d, &q, &filter, QUERY_ORDER_SELF, 1);
	held_memory_find(&h, &q, &filter, &d);
	assert_int_equal(h.time, time);
	vec_for_each(&h.rows, const struct held_place *, row) {
		const struct query_key *keys = d.keys.rows.items;
		const uint32_t *of = d.keys.of_stacks;

		strbuf_addf(&text, "%s by %s %d, ",
			    query_keys_text(&d.keys, keys[of[row->stack]].function),
			    row->caller == NO_STACK
				    ? "-"
				    : query_keys_text(&d.keys, keys[of[row->caller]].function),
			    (int)row->bytes);
	}
	strbuf_addf(&text, "all %d", (int)h.bytes);
	assert_string_equal(strbuf_text(&text), expected);
	strbuf_release(&text);
	vec_release(&h.rows);
	digest_release(&d);
	query_release(&q);
	profile_free(p);
}

TEST(memory_is_held_by_the_function_that_has_it_allocated)
{
	struct profile *p = profile_new();

	add(p, 10, 0, 50, HANDLE "remember /app app.c\nxmalloc /app util.c\nmalloc libc.so.6 -");
	add(p, 20, 0, 30, HANDLE "remember /app app.c\nrecall /app app.c\nmalloc libc.so.6 -");
	add(p, 30, 40, 20, HANDLE "parse /app app.c\nmalloc libc.so.6 -");
	add(p, 50, 0, 5, "start libc.so.6 -\nmalloc libc.so.6 -");
	check(p, 0, "remember by handle 50, recall by remember 30, malloc by - 5, all 85");
}

/* A program that frees everything as it ends. */
TEST(memory_that_is_freed_at_the_end_was_held)
{
	struct profile *p = profile_new();

	add(p, 10, 90, 50, HANDLE "remember /app app.c\nmalloc libc.so.6 -");
	add(p, 20, 30, 60, HANDLE "parse /app app.c\nmalloc libc.so.6 -");
	add(p, 40, 91, 50, HANDLE "remember /app app.c\nmalloc libc.so.6 -");
	add(p, 60, 92, 20, HANDLE "parse /app app.c\nmalloc libc.so.6 -");
	add(p, 95, 0, 7, HANDLE "parse /app app.c\nmalloc libc.so.6 -");
	check(p, 60, "remember by handle 100, parse by handle 20, all 120");
}

TEST(nothing_was_allocated)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 1, HANDLE);
	check(p, 0, "all 0");
}
