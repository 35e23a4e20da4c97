/* SPDX-License-Identifier: MIT */
/* Frames of a runtime among native ones: the kernel's merge (bpf/runtime_merge.h), run here. */
#include <string.h>

#include "lib/code/unwind/native/stack_finisher.h"
#include "tests/unit/test.h"

#define ROOM 16
#define LEAF UINT64_MAX

/* Native frames behind the leaf are 1, 2, 3 …; frame i lies at [1000 * i, 1000 * (i + 1)). */
struct fixture {
	uint64_t natives[ROOM], sps[ROOM];
	uint8_t kinds[ROOM];
	struct managed_merge in;
	uint64_t addrs[ROOM];
	uint8_t merged_kinds[ROOM];
	struct managed_merge_result result;
};

static void set_up(struct fixture *f, uint32_t depth, const struct managed_frame *managed,
		   uint32_t count)
{
	*f = (struct fixture){0};
	for (uint32_t i = 0; i < ROOM; i++) {
		f->natives[i] = i + 1;
		f->sps[i] = (i + 1) * 1000;
	}
	f->in = (struct managed_merge){
		.addrs = f->natives,
		.sps = f->sps,
		.kinds = f->kinds,
		.depth = depth,
		.top_sp = 500,
		.is_whole = true,
		.managed = managed,
		.managed_count = count,
	};
}

/* Frames of the runtime are at 100 and more. */
static void expect(struct fixture *f, const uint64_t *wanted, uint32_t count, uint32_t left)
{
	f->result = managed_merge(&f->in, f->addrs, f->merged_kinds, ROOM);
	assert_int_equal(f->result.depth, count);
	assert_int_equal(f->result.left, left);
	assert_memory_equal(f->addrs, wanted, count * sizeof(*wanted));
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(f->merged_kinds[i],
				 wanted[i] >= 100 ? FRAME_MANAGED : FRAME_NATIVE);
}

TEST(groups_take_their_frames_place)
{
	const struct managed_frame managed[] = {{100, 2010}, {101, 0}, {102, 4999}};
	const uint64_t wanted[] = {1, 100, 101, 3, 102, 5};
	struct fixture f;

	set_up(&f, 5, managed, 3);
	expect(&f, wanted, 6, 0);
	assert_false(f.result.leaf_replaced);
}

TEST(interpreter_frames_may_stay)
{
	const struct managed_frame managed[] = {{100, 600}, {101, 0}, {102, 3000}};
	const uint64_t wanted[] = {100, 101, 1, 2, 3, 102, 4};
	struct fixture f;

	set_up(&f, 4, managed, 3);
	f.in.keeps_interpreter = true;
	expect(&f, wanted, 7, 0);
	assert_false(f.result.leaf_replaced);
}

TEST(the_leaf_may_be_the_interpreter)
{
	const struct managed_frame managed[] = {{100, 999}, {101, 0}};
	const uint64_t wanted[] = {100, 101, 1, 2};
	struct fixture f;

	set_up(&f, 2, managed, 2);
	expect(&f, wanted, 4, 0);
	assert_true(f.result.leaf_replaced);
	/* In the kernel it is not. */
	f.in.top_sp = LEAF;
	expect(&f, (const uint64_t[]){1, 2}, 2, 2);
	assert_false(f.result.leaf_replaced);
}

/* The frame inside has its address from it. */
TEST(interrupted_interpreters_stay)
{
	const struct managed_frame managed[] = {{100, 2010}, {101, 3010}};
	const uint64_t wanted[] = {1, 2, 100, 101, 4};
	struct fixture f;

	set_up(&f, 4, managed, 2);
	f.kinds[1] = FRAME_SIGNAL;
	f.result = managed_merge(&f.in, f.addrs, f.merged_kinds, ROOM);
	assert_int_equal(f.result.depth, 5);
	assert_memory_equal(f.addrs, wanted, sizeof(wanted));
	assert_int_equal(f.merged_kinds[1], FRAME_SIGNAL);
}

TEST(bits_of_notes_are_no_address)
{
	const struct managed_frame managed[] = {{100, 2000}};
	const uint64_t wanted[] = {1, 100, 3};
	struct fixture f;

	set_up(&f, 3, managed, 1);
	f.sps[1] |= 1;
	f.sps[2] |= 1;
	expect(&f, wanted, 3, 0);
}

TEST(only_known_frames_hold_a_group)
{
	const struct managed_frame managed[] = {{100, 1500}, {101, 3500}};
	struct fixture f;

	set_up(&f, 3, managed, 2);
	expect(&f, (const uint64_t[]){100, 2, 101}, 3, 0);
	/* The end of the last frame is unknown: whether it is the interpreter, too. */
	f.in.is_whole = false;
	expect(&f, (const uint64_t[]){100, 2, 3, 101}, 4, 0);
}

/* Code without call frame information ends the native side, not the runtime's. */
TEST(groups_beyond_the_end_of_a_stack_follow_it)
{
	const struct managed_frame managed[] = {
		{100, 1500}, {101, 0}, {102, 9000}, {103, 0}, {104, 9500}};
	const struct managed_frame descending[] = {{100, 9000}, {101, 8000}};
	const struct managed_frame skipped[] = {{100, 1500}, {101, 2500}};
	const struct managed_frame inside[] = {{100, 2500}, {101, 2400}};
	struct fixture f;

	set_up(&f, 2, managed, 5);
	f.in.is_whole = false;
	expect(&f, (const uint64_t[]){100, 101, 2, 102, 103, 104}, 6, 0);
	set_up(&f, 0, managed, 5);
	f.in.is_whole = false;
	expect(&f, (const uint64_t[]){100, 101, 102, 103, 104}, 5, 0);
	/* Frame 2 lies far from frame 1, which cannot hold two groups. */
	set_up(&f, 3, skipped, 2);
	f.sps[1] = 9900;
	f.sps[2] = 9950;
	f.in.is_whole = false;
	expect(&f, (const uint64_t[]){100, 101, 2, 3}, 4, 0);
	/* The frames of one chain ascend. */
	set_up(&f, 2, descending, 2);
	f.in.is_whole = false;
	expect(&f, (const uint64_t[]){1, 2, 100}, 3, 1);
	set_up(&f, 5, inside, 2);
	f.in.is_whole = false;
	expect(&f, (const uint64_t[]){1, 100, 3, 4, 5}, 5, 1);
}

TEST(groups_that_no_frame_holds_are_left)
{
	const struct managed_frame outer[] = {{100, 9500}, {101, 1500}};
	struct fixture f;

	/* Places must ascend. */
	set_up(&f, 3, outer, 2);
	expect(&f, (const uint64_t[]){1, 2, 100}, 3, 1);
}

TEST(frames_without_a_place_follow_the_leaf)
{
	const struct managed_frame none[] = {{100, 0}, {101, 0}};
	struct fixture f;

	set_up(&f, 3, none, 2);
	expect(&f, (const uint64_t[]){100, 101, 1, 2, 3}, 5, 0);
	f.in.is_whole = false;
	expect(&f, (const uint64_t[]){100, 101, 1, 2, 3}, 5, 0);
	/* In the kernel, the leaf of user code is the first native frame. */
	f.in.top_sp = LEAF;
	expect(&f, (const uint64_t[]){1, 100, 101, 2, 3}, 5, 0);
	set_up(&f, 0, none, 2);
	expect(&f, (const uint64_t[]){100, 101}, 2, 0);
}

TEST(no_more_than_there_is_room)
{
	struct managed_frame managed[2 * ROOM] = {{100, 1500}};
	struct fixture f;

	for (uint32_t i = 1; i < 2 * ROOM; i++)
		managed[i].position = 100 + i;
	set_up(&f, 3, managed, 2 * ROOM);
	f.result = managed_merge(&f.in, f.addrs, f.merged_kinds, ROOM);
	assert_int_equal(f.result.depth, ROOM);
	assert_true(f.result.is_truncated);
	assert_int_equal(f.addrs[ROOM - 1], 100 + ROOM - 1);
}
