/* SPDX-License-Identifier: MIT */

#include "lib/code/binary/segments.h"
#include "tests/unit/test.h"

static void build(struct segments *s, const struct interval *rows, size_t count)
{
	struct intervals intervals = {0};

	for (size_t i = 0; i < count; i++)
		vec_push(&intervals.rows, rows[i]);
	*s = (struct segments){0};
	segments_build(s, &intervals);
	vec_release(&intervals.rows);
}

TEST(nothing_is_found_in_nothing)
{
	struct segments s;

	build(&s, NULL, 0);
	assert_int_equal(segments_find(&s, 0), NO_SEGMENT);
	assert_int_equal(segments_find(&s, UINT64_MAX), NO_SEGMENT);
	segments_release(&s);
}

TEST(ends_are_outside)
{
	const struct interval rows[] = {{10, 20, 7, 0}, {20, 20, 8, 0}, {30, 40, 9, 0}};
	struct segments s;

	build(&s, rows, 3);
	assert_int_equal(segments_find(&s, 9), NO_SEGMENT);
	assert_int_equal(segments_find(&s, 10), 7);
	assert_int_equal(segments_find(&s, 19), 7);
	assert_int_equal(segments_find(&s, 20), NO_SEGMENT);
	assert_int_equal(segments_find(&s, 39), 9);
	assert_int_equal(segments_find(&s, 40), NO_SEGMENT);
	segments_release(&s);
}

TEST(inner_ranges_win_and_outer_ones_go_on)
{
	/* Unsorted on purpose; 2 and 3 are equal, so rank decides. */
	const struct interval rows[] = {
		{40, 50, 3, 2}, {0, 100, 1, 0}, {40, 50, 2, 1}, {60, 70, 4, 1}, {65, 70, 5, 2},
	};
	struct segments s;

	build(&s, rows, 5);
	assert_int_equal(segments_find(&s, 39), 1);
	assert_int_equal(segments_find(&s, 40), 3);
	assert_int_equal(segments_find(&s, 50), 1);
	assert_int_equal(segments_find(&s, 64), 4);
	assert_int_equal(segments_find(&s, 69), 5);
	assert_int_equal(segments_find(&s, 70), 1);
	assert_int_equal(segments_find(&s, 100), NO_SEGMENT);
	segments_release(&s);
}

/* Implements the contract of segments_find() in the plainest way. */
static uint32_t find_slowly(const struct interval *rows, size_t count, uint64_t at)
{
	const struct interval *best = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct interval *row = &rows[i];

		if (at < row->start || at >= row->end)
			continue;
		if (!best || row->start > best->start ||
		    (row->start == best->start &&
		     (row->end < best->end || (row->end == best->end && row->rank > best->rank))))
			best = row;
	}
	return best ? best->id : NO_SEGMENT;
}

TEST(any_mess_of_ranges)
{
	uint32_t random = 1;

	for (int round = 0; round < 300; round++) {
		struct interval rows[30];
		struct segments s;

		for (uint32_t i = 0; i < 30; i++) {
			random = random * 1664525 + 1013904223;
			rows[i].start = (random >> 8) % 100;
			rows[i].end = rows[i].start + (random >> 16) % (round % 50 + 1);
			rows[i].id = rows[i].rank = i;
		}
		build(&s, rows, 30);
		assert_true(s.rows.count <= 61);
		for (uint64_t at = 0; at < 160; at++)
			assert_int_equal(segments_find(&s, at), find_slowly(rows, 30, at));
		segments_release(&s);
	}
}

TEST(the_top_of_the_address_space)
{
	const struct interval rows[] = {{UINT64_MAX - 10, UINT64_MAX, 1, 0}};
	struct segments s;

	build(&s, rows, 1);
	assert_int_equal(segments_find(&s, UINT64_MAX - 1), 1);
	assert_int_equal(segments_find(&s, UINT64_MAX), NO_SEGMENT);
	segments_release(&s);
}
