/* SPDX-License-Identifier: MIT */
#include "lib/stream/record/records.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/session/sample_feed.h"
#include "tests/unit/test.h"

#define DEPTH 7

static const uint64_t addrs[DEPTH] = {
	0xffffffff81000001, 0xffffffffc0000002, 0x7f0000000003, 0x7f0000000004,
	0x550000000005,	    0x7f0000000006,	0x400007,
};
static const uint8_t kinds[DEPTH] = {
	FRAME_KERNEL, FRAME_KERNEL, FRAME_NATIVE, FRAME_SIGNAL,
	FRAME_SIGNAL, FRAME_NATIVE, FRAME_NATIVE,
};

/* Makes a stack of the frames from `first` on that continues another one. */
static struct rec_stack *make(unsigned int first, unsigned int depth, uint32_t id, uint32_t outer)
{
	unsigned int kernel_depth = first < 2 ? 2 - first : 0;
	struct rec_stack *rec = stack_record_new(addrs + first, kinds + first,
						 (uint16_t)kernel_depth,
						 (uint16_t)(depth - kernel_depth));

	rec->stack_id = id;
	rec->prefix_id = outer;
	return rec;
}

TEST(frames_are_what_they_were)
{
	_cleanup_free_ struct rec_stack *rec = make(0, DEPTH, 1, 0);
	struct stack_body body = stack_record_body(rec);

	assert_true(record_is_valid(&rec->rec, record_size(&rec->rec)));
	/*
	 * The kernel's two frames are one run; everywhere else, the kind or the upper half changes.
	 */
	assert_int_equal(rec->run_count, DEPTH - 1);
	for (unsigned int skip = 0; skip <= DEPTH + 1; skip++) {
		uint64_t got_addrs[DEPTH];
		uint8_t got_kinds[DEPTH];
		uint32_t left = skip < DEPTH ? DEPTH - skip : 0;

		assert_int_equal(stack_body_unpack(&body, skip, got_addrs, got_kinds), left);
		assert_memory_equal(got_addrs, addrs + DEPTH - left, left * sizeof(*addrs));
		assert_memory_equal(got_kinds, kinds + DEPTH - left, left);
	}
}

TEST(runs_that_lie_never_give_more_than_there_is)
{
	_cleanup_free_ struct rec_stack *rec = make(0, DEPTH, 1, 0);
	struct stack_body body = stack_record_body(rec);
	uint64_t got_addrs[DEPTH];
	uint8_t got_kinds[DEPTH];

	((struct rec_run *)body.runs)[1].count = UINT16_MAX;
	assert_false(record_is_valid(&rec->rec, record_size(&rec->rec)));
	assert_int_equal(stack_body_unpack(&body, 0, got_addrs, got_kinds), DEPTH);
	((struct rec_run *)body.runs)[1].count = 0;
	assert_false(record_is_valid(&rec->rec, record_size(&rec->rec)));
}

static raw_stack_id add(struct raw_stacks *s, unsigned int first, unsigned int depth, uint32_t id,
			uint32_t outer, unsigned int skip)
{
	_cleanup_free_ struct rec_stack *rec = make(first, depth, id, outer);

	rec->prefix_skip = (uint16_t)skip;
	return raw_stacks_add(s, rec);
}

TEST(a_stack_goes_on_through_others)
{
	struct raw_stacks s = {0};
	uint64_t got_addrs[DEPTH];
	uint8_t got_kinds[DEPTH];
	raw_stack_id id;

	add(&s, 3, 4, 10, 0, 0); /* 3 4 5 6 */
	add(&s, 1, 4, 11, 10, 2); /* 1 2 3 4 and 5 6 */
	id = add(&s, 0, 2, 12, 11, 1); /* 0 1 and 2 3 4, 5 6 */
	assert_int_equal(s.rows.items[id].depth, DEPTH);
	raw_stack_unpack(&s, &s.rows.items[id], got_addrs, got_kinds);
	assert_memory_equal(got_addrs, addrs, sizeof(addrs));
	assert_memory_equal(got_kinds, kinds, sizeof(kinds));
	/* 0 1 2 3, and the rest of 1 2 3 4 5 6 without its first five: a frame of the first one. */
	id = add(&s, 0, 4, 13, 11, 5);
	assert_int_equal(s.rows.items[id].depth, 5);
	raw_stack_unpack(&s, &s.rows.items[id], got_addrs, got_kinds);
	assert_true(got_addrs[4] == addrs[6]);
	/* The same stack again gets the same row, whatever its id. */
	assert_int_equal(add(&s, 0, 4, 14, 11, 5), id);
	assert_int_not_equal(add(&s, 0, 4, 15, 11, 4), id);
	assert_int_equal(add(&s, 0, 4, 16, 99, 0), NO_RAW_STACK);
	assert_int_equal(raw_stacks_find(&s, 16), NO_RAW_STACK);
	raw_stacks_release(&s);
}

TEST(what_goes_on_for_ever_ends)
{
	struct raw_stacks s = {0};
	raw_stack_id id = NO_RAW_STACK;

	add(&s, 0, DEPTH, 1, 0, 0);
	for (uint32_t i = 2; i < 100000; i++) {
		id = add(&s, 2, 3, i, i - 1, 0);
		assert_true(s.rows.items[id].depth <= UINT16_MAX);
		if (s.rows.items[id].flags & STACK_TRUNCATED)
			break;
	}
	assert_true(s.rows.items[id].flags & STACK_TRUNCATED);
	raw_stacks_release(&s);
}
