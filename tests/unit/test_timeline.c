/* SPDX-License-Identifier: MIT */
/* Time of threads by category and wait, in parts of any length. */
#include <math.h>

#include "lib/base/cleanup.h"
#include "lib/model/meaning/categories.h"
#include "lib/query/timeline.h"
#include "tests/unit/test.h"

#define MS UINT64_C(1000000)

static stack_id add_stack(struct profile *p, enum profile_frame_kind kind, uint8_t category,
			  uint8_t subcategory)
{
	const struct frame frame = {.module = NO_MODULE,
				    .func = NO_FUNC,
				    .symbol = NO_SYMBOL,
				    .kind = (uint8_t)kind,
				    .category = category,
				    .subcategory = subcategory};

	return stacks_intern(&p->stacks, NO_STACK, frames_intern(&p->frames, &frame));
}

/* Two ticks of work, the second with half of its time; a lock from 2 to 6 ms; a tick. */
static struct profile *make_profile(void)
{
	struct profile *p = profile_new();
	struct profile_thread thread = {.is_main = true, .name = NO_STRING};
	stack_id work = add_stack(p, PROFILE_FRAME_NATIVE, 0, 0);
	stack_id lock = add_stack(p, PROFILE_FRAME_LABEL, CATEGORY_IDLE, IDLE_LOCK);
	const struct sample rows[] = {
		{.time = 10 * MS + MS, .stack = work, .weight = 1, .cpu_delta = MS},
		{.time = 10 * MS + 2 * MS, .stack = work, .weight = 1, .cpu_delta = MS / 2},
		{.time = 10 * MS + 3 * MS, .stack = lock, .weight = 1},
		{.time = 10 * MS + 6 * MS, .stack = lock, .weight = 3},
		{.time = 10 * MS + 7 * MS, .stack = work, .weight = 1, .cpu_delta = MS},
	};

	p->meta.start_ns = 10 * MS;
	p->meta.end_ns = 20 * MS;
	p->meta.interval_ns = MS;
	threads_add(&p->threads, &thread);
	threads_add(&p->threads, &thread);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		samples_add(&p->threads.rows.items[0].samples, &rows[i]);
		samples_add(&p->threads.rows.items[1].samples, &rows[i]);
	}
	return p;
}

static double at(const struct query_timeline *t, uint32_t bin, uint32_t kind)
{
	return (double)t->times[bin * t->kinds + kind] / (double)MS;
}

static void expect(const struct query_timeline *t, uint32_t bin, uint32_t kind, double ms)
{
	assert_true(fabs(at(t, bin, kind) - ms) < 1e-3);
}

static void ask(struct profile *p, struct query_timeline *t, thread_id thread)
{
	const struct query_filter filter = QUERY_FILTER_ALL;
	struct query q;

	assert_int_equal(query_select(&q, p, &filter, NULL), 0);
	query_timeline_make(t, &q, thread);
	query_release(&q);
}

/* Weights are summed up where their rows are. */
TEST(timeline_of_an_event_has_its_weights)
{
	struct profile *p = make_profile();
	uint8_t event = profile_event(p, "faults");
	const struct sample row = {
		.time = 15 * MS, .stack = 0, .weight = 7, .cpu = NO_CPU, .event = event};
	struct query_filter filter = QUERY_FILTER_ALL;
	struct query_timeline t = {.until = 10 * MS, .bins = 10};
	struct query q;

	samples_add(&p->threads.rows.items[1].samples, &row);
	filter.event = "faults";
	assert_int_equal(query_select(&q, p, &filter, NULL), 0);
	query_timeline_make(&t, &q, NO_THREAD);
	assert_true(t.times[5 * t.kinds + QUERY_WAIT_COUNT + CATEGORY_USER] == 7);
	assert_true(t.times[1 * t.kinds + QUERY_WAIT_COUNT + CATEGORY_USER] == 0);
	query_timeline_release(&t);
	query_release(&q);
	profile_free(p);
}

TEST(test_bins)
{
	struct query_timeline t = {.until = 10 * MS, .bins = 5};
	struct profile *p = make_profile();
	uint32_t work = QUERY_WAIT_COUNT + CATEGORY_USER;

	ask(p, &t, 0);
	expect(&t, 0, work, 1.5);
	expect(&t, 0, QUERY_BLOCKED, 0);
	expect(&t, 1, QUERY_BLOCKED, 2);
	expect(&t, 2, QUERY_BLOCKED, 2);
	expect(&t, 3, work, 1);
	expect(&t, 4, work, 0);
	query_timeline_release(&t);
	ask(p, &t, NO_THREAD);
	expect(&t, 0, work, 3);
	expect(&t, 2, QUERY_BLOCKED, 4);
	query_timeline_release(&t);
	profile_free(p);
}

/* Parts shorter than an interval have no more than their own length. */
TEST(test_short_bins)
{
	struct query_timeline t = {.from = MS / 2, .until = 2 * MS, .bins = 6};
	struct profile *p = make_profile();
	uint32_t work = QUERY_WAIT_COUNT + CATEGORY_USER;

	ask(p, &t, 0);
	expect(&t, 0, work, 0.25);
	expect(&t, 1, work, 0.25);
	expect(&t, 2, work, 0.125);
	expect(&t, 5, work, 0.125);
	query_timeline_release(&t);
	profile_free(p);
}

/* A row of a wait may end between a thread's CPU time and the tick that has it. */
TEST(test_cpu_time_before_a_wait)
{
	struct query_timeline t = {.until = 10 * MS, .bins = 20};
	struct profile *p = make_profile();
	uint32_t work = QUERY_WAIT_COUNT + CATEGORY_USER;
	const struct sample row = {
		.time = 10 * MS + 9 * MS, .stack = 0, .weight = 1, .cpu_delta = 3 * MS / 2};

	samples_add(&p->threads.rows.items[0].samples, &row);
	ask(p, &t, 0);
	expect(&t, 14, work, 0);
	expect(&t, 15, work, 0.5);
	expect(&t, 16, work, 0.5);
	expect(&t, 17, work, 0.5);
	expect(&t, 18, work, 0);
	query_timeline_release(&t);
	profile_free(p);
}
