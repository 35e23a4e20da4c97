/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/markers.h"
#include "lib/stream/session/markers/marker_feed.h"

#include "tests/unit/test.h"

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
	schema_text_intern_first(&f.p->markers.schemas, &f.p->strings);
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

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(few_stay)
{
	struct fixture *f = *state;
	thread_id thread = add_thread(f);
	struct marker others;
	uint64_t sum;

	for (uint64_t i = 0; i < MARKERS_PER_THREAD; i++)
		add(f, thread, f->schema, 0);
	marker_bounds_finish(&f->bounds, f->p, &others);
	assert_int_equal(count(f, thread, f->schema, &sum), MARKERS_PER_THREAD);
	assert_int_equal(told(f, thread), 0);
	assert_int_equal(f->p->stats.left_out_markers, 0);
}

CASE(shortest_go)
{
	struct fixture *f = *state;
	thread_id thread = add_thread(f);
	uint64_t sum, n = 3 * MARKERS_PER_THREAD, kept = MARKERS_PER_THREAD;
	struct marker others;

	for (uint64_t i = 0; i < n; i++)
		add(f, thread, f->schema, i * 7919 % n);
	add(f, thread, MARKER_LOST, 0);
	marker_bounds_finish(&f->bounds, f->p, &others);
	assert_int_equal(count(f, thread, f->schema, &sum), kept);
	assert_int_equal(sum, kept * (n - 1 + n - kept) / 2);
	assert_int_equal(count(f, thread, MARKER_LOST, &sum), 1);
	assert_int_equal(told(f, thread), n - kept);
	assert_int_equal(f->p->stats.left_out_markers, n - kept);
}

CASE(all_together)
{
	struct fixture *f = *state;
	uint64_t threads = MARKERS_MAX / MARKERS_PER_THREAD + 2, sum, all = 0, counted = 0;
	struct marker others;

	for (uint64_t i = 0; i < threads; i++) {
		thread_id thread = add_thread(f);

		for (uint64_t k = 0; k < MARKERS_PER_THREAD; k++)
			add(f, thread, f->schema, 5);
	}
	marker_bounds_finish(&f->bounds, f->p, &others);
	for (thread_id id = 0; id < threads; id++) {
		all += count(f, id, f->schema, &sum);
		counted += (uint64_t)told(f, id);
	}
	assert_int_equal(all, MARKERS_MAX);
	assert_int_equal(counted, threads * MARKERS_PER_THREAD - MARKERS_MAX);
}

/* Floods of long markers leave short ones of another kind alone. */
CASE(rare_kinds_stay)
{
	struct fixture *f = *state;
	const struct schema rare = {.name = strings_intern(&f->p->strings, "killed")};
	schema_id schema = schemas_intern(&f->p->markers.schemas, &rare, NULL);
	thread_id thread = add_thread(f);
	struct marker others;
	uint64_t sum;

	for (uint64_t i = 0; i < 5 * MARKERS_PER_THREAD; i++) {
		add(f, thread, f->schema, 100);
		if (i % 1000 == 0)
			add(f, thread, schema, 0);
	}
	marker_bounds_finish(&f->bounds, f->p, &others);
	assert_int_equal(count(f, thread, schema, &sum), 5 * MARKERS_PER_THREAD / 1000);
	assert_int_equal(count(f, thread, f->schema, &sum) + 5 * MARKERS_PER_THREAD / 1000,
			 MARKERS_PER_THREAD);
}

/* Markers of one length stay with the same chance, whenever they came. */
CASE(chance_decides_among_equals)
{
	struct fixture *f = *state;
	thread_id thread = add_thread(f);
	struct marker others;
	uint64_t early = 0;

	for (uint64_t i = 0; i < 10 * MARKERS_PER_THREAD; i++) {
		struct marker marker = markers_make(&f->p->markers, f->schema, i, i);

		vec_push(&threads_get(&f->p->threads, thread)->markers, marker);
		marker_bounds_added(&f->bounds, f->p, thread);
	}
	marker_bounds_finish(&f->bounds, f->p, &others);
	vec_for_each(&threads_get(&f->p->threads, thread)->markers, const struct marker *, marker)
		early += marker->schema == f->schema && marker->start < 5 * MARKERS_PER_THREAD;
	assert_in_range(early, MARKERS_PER_THREAD * 45 / 100, MARKERS_PER_THREAD * 55 / 100);
}

/* The threads with the most tell themselves, and one marker tells of all others. */
CASE(one_tells_of_many)
{
	struct fixture *f = *state;
	uint64_t threads = 1000, each = 2 * MARKERS_MAX / threads, counted = 0, sum, kept = 0;
	size_t telling = 0;
	struct marker others;

	for (uint64_t i = 0; i < threads; i++) {
		thread_id thread = add_thread(f);

		for (uint64_t k = 0; k < each; k++)
			add(f, thread, f->schema, i * each + k);
	}
	assert_true(marker_bounds_finish(&f->bounds, f->p, &others));
	for (thread_id id = 0; id < threads; id++) {
		kept += count(f, id, f->schema, &sum);
		if (!threads_get(&f->p->threads, id)->markers.count)
			continue;
		telling += told(f, id) != 0;
		counted += (uint64_t)told(f, id);
	}
	assert_true(telling <= 200);
	counted += marker_value(&f->p->markers, &others, 0)->number;
	assert_int_equal(marker_value(&f->p->markers, &others, 1)->number, threads / 2 - telling);
	assert_int_equal(counted, threads * each - MARKERS_MAX);
	assert_int_equal(kept, MARKERS_MAX);
	assert_int_equal(f->p->stats.left_out_markers, counted);
}

/*
 * Returns the processor time of limiting as many markers of so many kinds, in ns.
 */
static uint64_t time_of_kinds(uint64_t kinds)
{
	struct fixture *f;
	void *state;
	uint64_t time;
	schema_id first;
	thread_id thread;

	setup(&state);
	f = state;
	thread = add_thread(f);
	first = (schema_id)f->p->markers.schemas.rows.count;
	for (uint64_t i = 0; i < kinds; i++) {
		char name[16];
		struct schema schema = {0};

		snprintf(name, sizeof(name), "kind %u", (unsigned)i);
		schema.name = strings_intern(&f->p->strings, name);
		schemas_intern(&f->p->markers.schemas, &schema, NULL);
	}
	for (uint64_t i = 0; i < 2 * MARKERS_PER_THREAD - 1; i++)
		add(f, thread, first + (schema_id)(i % kinds), i * 7919 % 100003);
	time = clock_process_cpu_ns();
	marker_bounds_limit(&f->bounds, f->p);
	time = clock_process_cpu_ns() - time;
	assert_true(threads_get(&f->p->threads, thread)->markers.count <= MARKERS_PER_THREAD);
	teardown(&state);
	return time;
}

/* Takes no pass over all markers for each kind: that would be 150 times as long. */
TEST(many_kinds_take_no_longer_than_few)
{
	uint64_t few = time_of_kinds(4), many = time_of_kinds(600);

	print_message("%u and %u us\n", (unsigned)(few / 1000), (unsigned)(many / 1000));
	assert_true(many < 8 * few);
}
