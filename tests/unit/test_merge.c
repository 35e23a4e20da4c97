/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "lib/stream/record/merge.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

static int setup(void **state)
{
	*state = merge_new();
	return 0;
}

static int teardown(void **state)
{
	merge_free(*state);
	return 0;
}

/* The cpu tells records of equal times apart. */
static void add(struct merge *m, uint64_t time, uint16_t cpu)
{
	struct rec rec;

	record_init(&rec, REC_CPU, sizeof(rec), time, 0, 0);
	rec.cpu = cpu;
	merge_add(m, &rec);
}

static void expect(struct merge *m, uint64_t time, uint16_t cpu)
{
	const struct rec *rec = merge_next(m);

	assert_non_null(rec);
	assert_int_equal(rec->time, time);
	assert_int_equal(rec->cpu, cpu);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(gives_what_is_older_than_the_round_before)
{
	struct merge *m = *state;

	merge_begin_round(m, 100);
	add(m, 90, 0);
	assert_null(merge_next(m));
	merge_begin_round(m, 200);
	add(m, 99, 1);
	add(m, 100, 1);
	add(m, 150, 1);
	expect(m, 90, 0);
	expect(m, 99, 1);
	assert_null(merge_next(m));
	merge_begin_round(m, 300);
	expect(m, 100, 1);
	expect(m, 150, 1);
	assert_null(merge_next(m));
}

/* A ring cannot be read to its end in two rounds. */
CASE(held_records_wait_for_those_before_them)
{
	struct merge *m = *state;

	merge_begin_round(m, 100);
	add(m, 90, 0);
	merge_begin_round(m, 200);
	add(m, 150, 0);
	merge_hold_watermark(m);
	expect(m, 90, 0);
	merge_begin_round(m, 300);
	add(m, 250, 0);
	merge_hold_watermark(m);
	assert_null(merge_next(m));
	assert_int_equal(merge_size(m), 2 * sizeof(struct rec));
	/* Now it can. */
	merge_begin_round(m, 400);
	add(m, 140, 1);
	add(m, 240, 1);
	add(m, 350, 1);
	assert_null(merge_next(m));
	merge_begin_round(m, 500);
	expect(m, 140, 1);
	expect(m, 150, 0);
	expect(m, 240, 1);
	expect(m, 250, 0);
	expect(m, 350, 1);
	assert_int_equal(merge_size(m), 0);
	assert_int_equal(merge_peak(m), 5 * sizeof(struct rec));
}

CASE(sorts_rings_and_within_a_ring)
{
	struct merge *m = *state;

	merge_begin_round(m, 10);
	add(m, 1, 0);
	add(m, 4, 0);
	add(m, 3, 0); /* a nested interrupt */
	add(m, 6, 0);
	add(m, 2, 1);
	add(m, 5, 1);
	add(m, 0, 2);
	merge_begin_round(m, 20);
	for (uint64_t time = 0; time <= 6; time++)
		assert_int_equal(merge_next(m)->time, time);
	assert_null(merge_next(m));
}

CASE(keeps_the_order_of_equal_times)
{
	struct merge *m = *state;

	merge_begin_round(m, 10);
	for (uint16_t i = 0; i < 5; i++)
		add(m, 7, i);
	add(m, 3, 9);
	add(m, 7, 5);
	merge_begin_round(m, 20);
	add(m, 7, 6);
	expect(m, 3, 9);
	for (uint16_t i = 0; i < 7; i++)
		expect(m, 7, i);
	assert_null(merge_next(m));
}

CASE(keeps_late_records)
{
	struct merge *m = *state;

	merge_begin_round(m, 100);
	add(m, 50, 0);
	merge_begin_round(m, 200);
	expect(m, 50, 0);
	add(m, 50, 1); /* as young as the last record passed on: still in order */
	add(m, 20, 2);
	expect(m, 20, 2);
	expect(m, 50, 1);
}

CASE(gives_everything_at_the_end)
{
	struct merge *m = *state;

	merge_begin_round(m, 100);
	add(m, UINT64_MAX, 1);
	add(m, 500, 0);
	merge_finish(m);
	expect(m, 500, 0);
	expect(m, UINT64_MAX, 1);
	assert_null(merge_next(m));
}

CASE(keeps_whole_records_of_any_size)
{
	struct merge *m = *state;
	size_t size = (size_t)REC_MAX_WORDS * 8;
	struct rec *big = calloc(1, size);

	merge_begin_round(m, 1);
	for (unsigned int i = 0; i < 5; i++) {
		memset(big, (int)i + 1, size);
		record_init(big, REC_STACK, size, 10 - i, i, i);
		merge_add(m, big);
		add(m, 10 - i, 1);
	}
	free(big);
	merge_finish(m);
	for (unsigned int i = 5; i-- > 0;) {
		const struct rec *rec = merge_next(m);
		const uint8_t *bytes = (const uint8_t *)rec;

		assert_int_equal(record_size(rec), size);
		assert_int_equal(rec->pid, i);
		assert_int_equal(bytes[sizeof(*rec)], i + 1);
		assert_int_equal(bytes[size - 1], i + 1);
		expect(m, 10 - i, 1);
	}
}

/* Many rounds over many rings against a plain count: no loss, no duplicate, all in order. */
CASE(long_runs_stay_complete_and_ordered)
{
	enum { ROUNDS = 300, RINGS = 7, EACH = 90 };
	struct merge *m = *state;
	uint64_t last = 0, count = 0;
	const struct rec *rec;

	srand(1);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		merge_begin_round(m, (round + 1) * 1000u);
		for (uint16_t ring = 0; ring < RINGS; ring++) {
			for (unsigned int i = 0; i < EACH; i++)
				add(m, round * 1000u + i * 11 + (unsigned int)rand() % 20, ring);
		}
		while ((rec = merge_next(m))) {
			assert_true(rec->time >= last);
			last = rec->time;
			count++;
		}
	}
	merge_finish(m);
	while ((rec = merge_next(m))) {
		assert_true(rec->time >= last);
		last = rec->time;
		count++;
	}
	assert_int_equal(count, ROUNDS * RINGS * EACH);
}

CASE(few_records_are_due_after_a_while)
{
	const uint64_t ms = 1000000;
	struct merge *m = *state;

	merge_begin_round(m, 1000 * ms);
	assert_true(merge_is_due(m));
	for (uint64_t at = 1001; at < 1100; at += 2) {
		merge_begin_round(m, at * ms);
		add(m, at * ms - 1, 0);
		assert_false(merge_is_due(m));
	}
	merge_begin_round(m, 1100 * ms);
	assert_true(merge_is_due(m));
	merge_begin_round(m, 1101 * ms);
	assert_false(merge_is_due(m));
	/* A round that did not read everything is one, too. */
	merge_begin_round(m, 1200 * ms);
	merge_hold_watermark(m);
	assert_true(merge_is_due(m));
	assert_false(merge_is_due(m));
	merge_finish(m);
	assert_true(merge_is_due(m));
}

CASE(many_records_are_due_at_once)
{
	struct merge *m = *state;

	merge_begin_round(m, 1000000000);
	assert_true(merge_is_due(m));
	merge_begin_round(m, 1000000001);
	while (merge_size(m) < 100000) {
		add(m, 1000000000, 0);
		assert_false(merge_is_due(m));
	}
	while (merge_size(m) < 200000)
		add(m, 1000000000, 0);
	assert_true(merge_is_due(m));
}
