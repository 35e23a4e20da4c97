/* SPDX-License-Identifier: MIT */
#include "lib/session/marker_bounds.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "lib/session/own_markers.h"

struct fixture {
	struct profile *p;
	struct marker_bounds bounds;
	schema_id schema;
};

static int setup(void **state)
{
	static struct fixture f;
	struct schema schema = {0};

	f = (struct fixture){.p = profile_new()};
	own_markers_register(f.p);
	schema.name = strings_intern(&f.p->strings, "work");
	f.schema = schemas_intern(&f.p->markers.schemas, &schema, NULL);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	marker_bounds_release(&f->bounds);
	profile_free(f->p);
	return 0;
}

static thread_id add_thread(struct fixture *f)
{
	const struct profile_thread row = {.end = 1};

	return threads_add(&f->p->threads, &row);
}

static void add(struct fixture *f, thread_id thread, schema_id schema, uint64_t length)
{
	struct marker marker = markers_make(&f->p->markers, schema, 1000, 1000 + length);

	vec_push(&threads_get(&f->p->threads, thread)->markers, marker);
	marker_bounds_added(&f->bounds, f->p, thread);
}

/* Counts the thread's markers of a schema, and sums up their lengths. */
static uint64_t count(struct fixture *f, thread_id thread, schema_id schema, uint64_t *sum)
{
	uint64_t found = 0;

	*sum = 0;
	vec_for_each(&threads_get(&f->p->threads, thread)->markers, const struct marker *, marker) {
		found += marker->schema == schema;
		*sum += marker->schema == schema ? marker->end - marker->start : 0;
	}
	return found;
}

static int64_t told(struct fixture *f, thread_id thread)
{
	const struct marker *last = &vec_last(&threads_get(&f->p->threads, thread)->markers);

	return last->schema <= f->schema ? 0
					 : (int64_t)marker_value(&f->p->markers, last, 0)->number;
}

static void few_stay(void **state)
{
	struct fixture *f = *state;
	thread_id thread = add_thread(f);
	uint64_t sum;

	for (uint64_t i = 0; i < MARKERS_PER_THREAD; i++)
		add(f, thread, f->schema, 0);
	marker_bounds_finish(&f->bounds, f->p);
	assert_int_equal(count(f, thread, f->schema, &sum), MARKERS_PER_THREAD);
	assert_int_equal(told(f, thread), 0);
	assert_int_equal(f->p->stats.left_out_markers, 0);
}

static void shortest_go(void **state)
{
	struct fixture *f = *state;
	thread_id thread = add_thread(f);
	uint64_t sum, n = 3 * MARKERS_PER_THREAD, kept = MARKERS_PER_THREAD;

	for (uint64_t i = 0; i < n; i++)
		add(f, thread, f->schema, i * 7919 % n);
	add(f, thread, OWN_EXEC, 0);
	marker_bounds_finish(&f->bounds, f->p);
	assert_int_equal(count(f, thread, f->schema, &sum), kept);
	assert_int_equal(sum, kept * (n - 1 + n - kept) / 2);
	assert_int_equal(count(f, thread, OWN_EXEC, &sum), 1);
	assert_int_equal(told(f, thread), n - kept);
	assert_int_equal(f->p->stats.left_out_markers, n - kept);
}

static void all_together(void **state)
{
	struct fixture *f = *state;
	uint64_t threads = MARKERS_MAX / MARKERS_PER_THREAD + 2, sum, all = 0, counted = 0;

	for (uint64_t i = 0; i < threads; i++) {
		thread_id thread = add_thread(f);

		for (uint64_t k = 0; k < MARKERS_PER_THREAD; k++)
			add(f, thread, f->schema, 5);
	}
	marker_bounds_finish(&f->bounds, f->p);
	for (thread_id id = 0; id < threads; id++) {
		all += count(f, id, f->schema, &sum);
		counted += (uint64_t)told(f, id);
	}
	assert_int_equal(all, MARKERS_MAX);
	assert_int_equal(counted, threads * MARKERS_PER_THREAD - MARKERS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(few_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(shortest_go, setup, teardown),
		cmocka_unit_test_setup_teardown(all_together, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
