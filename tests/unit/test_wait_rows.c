/* SPDX-License-Identifier: MIT */
/* The rows of waits weigh what was waited, whatever was sampled and however waits follow. */
#include <stdlib.h>

#include "lib/stream/session/waits/waits.h"
#include "tests/unit/test.h"

#define US 1000ull
#define MS 1000000ull
#define SURE UINT32_MAX

struct waiting {
	struct cpu_clock clock;
	struct wait_rows *rows;
	struct wait_stats stats;
	uint64_t time, used;
	uint32_t random;
};

static int set_up(void **state)
{
	struct waiting *w = calloc(1, sizeof(*w));

	cpu_clock_begin(&w->clock, 0);
	w->rows = wait_rows_new(7, &w->clock);
	w->random = 1;
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct waiting *w = *state;

	wait_rows_free(w->rows);
	free(w);
	return 0;
}

/* Runs, then waits. */
static void wait_for(struct waiting *w, uint64_t runs, uint64_t length, stack_id stack,
		     uint32_t chance, enum wait_group group)
{
	struct wait_part part = {
		.length = length, .stack = stack, .chance = chance, .group = (uint8_t)group};
	bool is_sampled;

	w->used += runs;
	w->time += runs;
	part.start = w->time;
	part.cpu = cpu_clock_read(&w->clock, w->time, (uint32_t)(w->used >> 4));
	w->time += length;
	cpu_clock_read(&w->clock, w->time, (uint32_t)(w->used >> 4));
	w->random = w->random * 1664525u + 1013904223u;
	is_sampled = !chance || w->random <= chance;
	if (is_sampled)
		wait_rows_add(w->rows, &part);
}

static void flush(struct waiting *w)
{
	wait_rows_flush(w->rows, &w->clock, MS, &w->stats);
}

static uint64_t weight_of(const struct waiting *w, stack_id stack)
{
	uint64_t weight = 0;

	samples_for_each(&w->rows->rows, row)
		weight += row->stack == stack ? row->weight : 0;
	return weight;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(a_long_wait_is_two_rows)
{
	struct waiting *w = *state;
	const struct sample *rows;

	wait_for(w, 0, 3600000 * MS, 5, 0, WAIT_COUNTS);
	flush(w);
	rows = w->rows->rows.open.items;
	assert_int_equal(samples_count(&w->rows->rows), 2);
	assert_int_equal(rows[0].weight, 1);
	assert_int_equal(rows[0].time, 0);
	assert_int_equal(rows[1].weight, 3599999);
	assert_int_equal(rows[1].time, 3600000 * MS);
}

/* Their rhythm is that of the rows: a wait that crosses each interval's end would have all. */
CASE(rhythms_of_the_interval_are_not_seen)
{
	struct waiting *w = *state;

	for (int i = 0; i < 4000; i++) {
		wait_for(w, 0, 300 * US, 3, SURE, WAIT_SHORT);
		wait_for(w, 0, 700 * US, 7, SURE, WAIT_SHORT);
	}
	flush(w);
	assert_int_equal(weight_of(w, 3) + weight_of(w, 7), 4000);
	/* 0.3 of 4000, within four standard deviations of as many draws */
	assert_in_range(weight_of(w, 3), 1200 - 116, 1200 + 116);
	assert_true(samples_count(&w->rows->rows) <= 4000);
}

CASE(sampled_waits_stand_for_the_others)
{
	struct waiting *w = *state;

	for (int i = 0; i < 40000; i++) {
		wait_for(w, 10 * US, 50 * US, 1, 0x0fffffff, WAIT_SHORT);
		wait_for(w, 10 * US, 150 * US, 2, 0x0fffffff, WAIT_SHORT);
	}
	flush(w);
	/* 8 s in all, which the clock knows; 2 and 6 of it as far as the draws tell */
	assert_in_range(weight_of(w, 1) + weight_of(w, 2), 7999, 8001);
	assert_in_range(weight_of(w, 1), 2000 - 200, 2000 + 200);
}

/* Time that another machine or an interrupt took is no wait. */
CASE(waits_that_are_all_known_are_not_fitted)
{
	struct waiting *w = *state;

	wait_for(w, 0, 5 * MS, 1, SURE, WAIT_LONG);
	wait_for(w, 0, MS, 2, SURE, WAIT_SHORT);
	cpu_clock_read(&w->clock, 1000 * MS, (uint32_t)(500 * MS >> 4));
	flush(w);
	assert_int_equal(weight_of(w, 1), 5);
	assert_int_equal(weight_of(w, 2), 1);
}

CASE(long_waits_count_even_if_none_is_sampled)
{
	struct waiting *w = *state;

	for (int i = 0; i < 10; i++) {
		wait_for(w, MS, 5 * MS, 1, 0, WAIT_LONG_UNSAMPLED);
		wait_for(w, MS, 5 * MS, 2, SURE, WAIT_LONG);
	}
	flush(w);
	assert_int_equal(weight_of(w, 1), 50);
	assert_int_equal(weight_of(w, 2), 50);
}

/* Enough are sampled to tell what the others were; their sum is known. */
CASE(sampled_long_waits_stand_for_the_others)
{
	struct waiting *w = *state;

	for (int i = 0; i < 200; i++)
		wait_for(w, MS, 5 * MS, i % 4 ? 9 : 2, i % 4 ? 0 : SURE,
			 i % 4 ? WAIT_LONG_UNSAMPLED : WAIT_LONG);
	flush(w);
	assert_int_equal(weight_of(w, 9), 0);
	assert_in_range(weight_of(w, 2), 999, 1001);
}

CASE(what_was_flushed_is_not_fitted_again)
{
	struct waiting *w = *state;

	for (int i = 0; i < 100; i++) {
		wait_for(w, MS, MS, 1, 0x7fffffff, WAIT_SHORT);
		if (i % 10 == 9)
			flush(w);
	}
	assert_in_range(weight_of(w, 1), 98, 102);
	assert_int_equal(w->rows->parts.count, 0);
}

CASE(rows_are_placed_in_order)
{
	struct waiting *w = *state;
	struct profile_thread thread = {0};

	for (uint64_t i = 0; i < 5; i++)
		vec_push(&thread.samples.open, (struct sample){.time = i * 4 * MS, .weight = 1});
	wait_for(w, 5 * MS, 2 * MS, 1, SURE, WAIT_LONG);
	wait_for(w, 2 * MS, 2 * MS, 2, SURE, WAIT_LONG);
	flush(w);
	wait_rows_place(w->rows, &thread);
	assert_int_equal(samples_count(&thread.samples), 9);
	for (size_t i = 1; i < samples_count(&thread.samples); i++)
		assert_true(thread.samples.open.items[i - 1].time <=
			    thread.samples.open.items[i].time);
	samples_release(&thread.samples);
}

/* More of them than chance explains: of one alone, the estimate is corrected anyway. */
CASE(tiny_chances_weigh_no_more_than_the_time)
{
	struct waiting *w = *state;

	for (int i = 0; i < 50; i++) {
		const struct wait_part part = {
			.start = w->time,
			.length = MS,
			.stack = 1,
			.chance = 1,
			.group = WAIT_SHORT,
		};

		wait_for(w, MS, MS, 2, 0, WAIT_COUNTS);
		wait_rows_add(w->rows, &part);
		w->time += MS;
		cpu_clock_read(&w->clock, w->time, (uint32_t)(w->used >> 4));
	}
	flush(w);
	assert_in_range(weight_of(w, 1), 48, 52);
	assert_in_range(weight_of(w, 2), 48, 52);
}
