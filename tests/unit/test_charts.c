/* SPDX-License-Identifier: MIT */
/* Stacks over time, and markers that tell of one wait. */
#include "lib/base/cleanup.h"
#include "lib/query/marker_rows.h"
#include "lib/query/timeline.h"
#include "tests/unit/test.h"

#define MS UINT64_C(1000000)

static stack_id add_call(struct profile *p, stack_id caller, const char *name)
{
	const struct func func = {.name = strings_intern(&p->strings, name),
				  .module = NO_MODULE,
				  .file = NO_SOURCE_FILE,
				  .is_named = true};
	const struct frame frame = {.module = NO_MODULE,
				    .func = funcs_intern(&p->funcs, &func),
				    .symbol = NO_SYMBOL,
				    .kind = PROFILE_FRAME_NATIVE};

	return stacks_intern(&p->stacks, caller, frames_intern(&p->frames, &frame));
}

static struct profile *make_profile(void)
{
	struct profile *p = profile_new();
	const struct profile_thread thread = {.is_main = true, .name = NO_STRING, .tid = 7};

	p->meta.end_ns = 100 * MS;
	p->meta.interval_ns = MS;
	threads_add(&p->threads, &thread);
	return p;
}

static const struct stack_span *find(const struct stack_chart *c, uint32_t depth, uint64_t from)
{
	vec_for_each(&c->spans, const struct stack_span *, span) {
		if (span->depth == depth && span->from == from)
			return span;
	}
	return NULL;
}

/* main calls a for two ticks and b for one, then nothing runs, then a. */
TEST(functions_that_stay_on_the_stack_are_one_span)
{
	struct profile *p = make_profile();
	const struct query_filter filter = QUERY_FILTER_ALL;
	stack_id outer = add_call(p, NO_STACK, "main"), a = add_call(p, outer, "a");
	stack_id b = add_call(p, outer, "b"), stacks[] = {a, a, b, a};
	const uint64_t times[] = {1, 2, 3, 50};
	struct query_keys keys;
	struct stack_chart c;
	struct query q;

	for (size_t i = 0; i < 4; i++)
		samples_add(
			&p->threads.rows.items[0].samples,
			&(struct sample){.time = times[i] * MS, .stack = stacks[i], .weight = 1});
	assert_int_equal(query_select(&q, p, &filter, NULL), 0);
	query_keys_make(&keys, &q, QUERY_BY_FUNCTION);
	const struct stack_chart_options options = {.until = 100 * MS, .bins = 1000, .keys = &keys};

	assert_int_equal(stack_chart_make(&c, p, &filter, &options, NULL), 0);
	assert_int_equal(c.spans.count, 5);
	assert_int_equal(c.depth, 2);
	assert_int_equal(find(&c, 0, 0)->until, 3 * MS);
	assert_int_equal(find(&c, 1, 0)->until, 2 * MS);
	assert_int_equal(find(&c, 1, 2 * MS)->until, 3 * MS);
	assert_int_equal(find(&c, 0, 49 * MS)->until, 50 * MS);
	assert_int_equal(find(&c, 1, 49 * MS)->key, find(&c, 1, 0)->key);
	stack_chart_release(&c);
	query_keys_release(&keys);
	query_release(&q);
	profile_free(p);
}

static void add_marker(struct profile *p, enum marker_id id, uint64_t start, uint64_t end)
{
	schema_id schema = schema_text_intern(marker_schema(id), &p->markers.schemas, &p->strings);
	struct marker marker = markers_make(&p->markers, schema, start * MS, end * MS);

	marker.name = strings_intern(&p->strings, id == MARKER_SYSCALL ? "wait4" : "other");
	if (id == MARKER_SLOW_CALL)
		*marker_value(&p->markers, &marker,
			      0) = marker_string(strings_intern(&p->strings, "wait4"));
	vec_push(&p->threads.rows.items[0].markers, marker);
}

/* The wait before is short, and told by its wake-up alone. */
TEST(a_thread_that_is_queued_after_its_wake_up_is_one_row)
{
	const struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = make_profile();
	struct marker_rows rows;

	add_marker(p, MARKER_WOKEN, 98, 99);
	add_marker(p, MARKER_WOKEN, 100, 110);
	add_marker(p, MARKER_LOCK_WAIT, 100, 140);
	marker_rows_make(&rows, p, &filter);
	marker_rows_join(&rows, p);
	assert_int_equal(rows.list.items[0].whole, 0);
	assert_int_equal(rows.list.items[1].whole, 2);
	assert_int_equal(rows.list.items[2].whole, 2);
	marker_rows_release(&rows);
	profile_free(p);
}

/* The child ends, its parent is woken and comes back from its call; a lock is something else. */
TEST(markers_of_one_wait_are_one_row)
{
	const struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = make_profile();
	struct marker_rows rows;

	add_marker(p, MARKER_CHILD, 10, 60);
	add_marker(p, MARKER_SYSCALL, 20, 62);
	add_marker(p, MARKER_SLOW_CALL, 21, 61);
	add_marker(p, MARKER_WOKEN, 22, 60);
	add_marker(p, MARKER_LOCK_WAIT, 70, 80);
	marker_rows_make(&rows, p, &filter);
	marker_rows_join(&rows, p);
	assert_int_equal(rows.list.count, 5);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(rows.list.items[i].whole, 2);
	assert_int_equal(rows.list.items[4].whole, 4);
	marker_rows_release(&rows);
	profile_free(p);
}
