/* SPDX-License-Identifier: MIT */
/* Ticks: each is in exactly one class, whatever the records say and in any order. */
#include <string.h>

#include "lib/stream/session/sample_feed.h"
#include "tests/unit/session_fixture.h"
#include "tests/unit/test.h"

#define MS 1000000ull

static uint64_t sum_of_classes(const struct profile_stats *stats)
{
	return stats->whole + stats->truncated + stats->broken + stats->unknown +
	       stats->kernel_only + stats->exiting;
}

/* Expects the ticks of such a sample in this class. */
static void expect_class(unsigned int sample_flags, unsigned int stack_flags, bool is_cut,
			 size_t class)
{
	struct tick_stats_entry entry = {
		(uint8_t)sample_flags, (uint8_t)stack_flags, is_cut, false, false, 3};
	struct profile_stats stats = {.cpu_samples = 10};

	tick_stats_count(&stats, &entry);
	assert_int_equal(stats.cpu_samples, 13);
	assert_int_equal(*(uint64_t *)((char *)&stats + class), 3);
	assert_int_equal(sum_of_classes(&stats), 3);
}

#define CLASS(name) offsetof(struct profile_stats, name)

TEST(how_the_stack_ended_is_the_class)
{
	expect_class(0, STACK_WHOLE, false, CLASS(whole));
	expect_class(SAMPLE_LEAF_KERNEL, STACK_WHOLE | STACK_USER_PC | STACK_GUESSED, false,
		     CLASS(whole));
	expect_class(0, STACK_WHOLE | STACK_LATER, false, CLASS(whole));
	expect_class(0, STACK_TRUNCATED, false, CLASS(truncated));
	expect_class(0, STACK_BROKEN | STACK_GUESSED, false, CLASS(broken));
	expect_class(0, STACK_UNKNOWN, false, CLASS(unknown));
	expect_class(0, 0, false, CLASS(unknown));
	expect_class(SAMPLE_NO_STACK, 0, false, CLASS(unknown));
	expect_class(SAMPLE_NO_STACK | SAMPLE_NO_LEAF, 0, false, CLASS(unknown));
}

TEST(what_the_task_is_comes_first)
{
	expect_class(SAMPLE_KERNEL_THREAD, STACK_WHOLE | STACK_TRUNCATED, false,
		     CLASS(kernel_only));
	expect_class(SAMPLE_KERNEL_THREAD | SAMPLE_EXITING, 0, false, CLASS(kernel_only));
	expect_class(SAMPLE_EXITING, STACK_UNKNOWN, false, CLASS(exiting));
	expect_class(SAMPLE_EXITING | SAMPLE_NO_STACK, 0, false, CLASS(exiting));
}

TEST(contradictions_have_an_order)
{
	expect_class(0, STACK_TRUNCATED | STACK_WHOLE, false, CLASS(truncated));
	expect_class(0, STACK_WHOLE | STACK_BROKEN | STACK_UNKNOWN, false, CLASS(whole));
	expect_class(0, STACK_BROKEN | STACK_UNKNOWN, false, CLASS(broken));
}

TEST(what_is_cut_is_not_whole)
{
	expect_class(0, STACK_WHOLE, true, CLASS(broken));
	expect_class(0, STACK_TRUNCATED, true, CLASS(truncated));
	expect_class(0, STACK_UNKNOWN, true, CLASS(unknown));
	expect_class(0, 0, true, CLASS(unknown));
}

TEST(every_flag_has_one_class)
{
	for (unsigned int flags = 0; flags < 0x80000; flags++) {
		struct tick_stats_entry entry = {(uint8_t)flags,  (uint8_t)(flags >> 8),
						 flags >> 16 & 1, flags >> 17 & 1,
						 flags >> 18,	  2};
		struct profile_stats stats = {0};

		tick_stats_count(&stats, &entry);
		assert_int_equal(sum_of_classes(&stats), 2);
		assert_int_equal(stats.guessed, entry.stack_flags & STACK_GUESSED ? 2 : 0);
		assert_int_equal(stats.finished_later, entry.stack_flags & STACK_LATER ? 2 : 0);
		assert_int_equal(stats.unknown_kinds, entry.has_unknown_kind ? 2 : 0);
		assert_int_equal(stats.compat, entry.is_32bit ? 2 : 0);
		assert_int_equal(stats.compat_unknown, entry.is_32bit ? stats.unknown : 0);
	}
}

/* Process 10 with app at 0x1000. */
static int setup(void **state)
{
	struct fed *f;

	fed_setup(state);
	f = *state;
	feed_module(f, 0, "/bin/app");
	feed_name(f, 0, 10, 10, NAME_SCAN, "app");
	feed_map(f, 0, 10, 0x1000, 0x2000, 0, 0);
	return 0;
}

#define CASE(name) TEST_WITH(name, setup, fed_teardown)

CASE(the_stack_that_arrives_decides)
{
	struct fed *f = *state;
	const struct profile_stats *stats = &f->p->stats;
	const uint64_t addrs[] = {0x1101, 0x1201};
	const uint8_t kinds[] = {FRAME_NATIVE, FRAME_GUESS};

	feed_sample(f, 1 * MS, 10, 10, 0, 0x1001, 5, 0);
	feed_sample(f, 2 * MS, 10, 10, 0, 0x1001, 5, 0);
	feed_sample(f, 3 * MS, 10, 10, 0, 0x1001, 6, 0);
	feed_sample(f, 4 * MS, 10, 10, 0, 0x1001, 7, 0);
	assert_int_equal(stats->cpu_samples + sum_of_classes(stats), 0);
	feed_stack(f, 5 * MS, 5, STACK_WHOLE | STACK_LATER, addrs, 0, 2, NULL);
	assert_int_equal(stats->whole, 2);
	assert_int_equal(stats->finished_later, 2);
	feed_stack(f, 6 * MS, 6, STACK_BROKEN | STACK_LATER | STACK_GUESSED, addrs, 0, 2, kinds);
	assert_int_equal(stats->broken, 1);
	assert_int_equal(stats->finished_later, 3);
	assert_int_equal(stats->guessed, 1);
	/* The same id again: ticks entered before stay where they are. */
	feed_stack(f, 7 * MS, 5, STACK_TRUNCATED, addrs, 0, 2, NULL);
	feed_sample(f, 8 * MS, 10, 10, 0, 0x1001, 5, 0);
	assert_int_equal(stats->truncated, 1);
	assert_int_equal(stats->whole, 2);
	feed_end(f, 9 * MS);
	assert_int_equal(stats->lost[LOST_STACK], 1);
	assert_int_equal(stats->cpu_samples, 4);
	assert_int_equal(sum_of_classes(stats), 4);
}

CASE(a_lost_sample_is_nothing_else)
{
	struct fed *f = *state;
	const struct profile_stats *stats = &f->p->stats;

	feed_sample(f, MS, 10, 10, SAMPLE_EXITING | SAMPLE_LEAF_KERNEL, 0xf001, 5, 0);
	feed_sample(f, MS, 2, 2, SAMPLE_KERNEL_THREAD | SAMPLE_LEAF_KERNEL, 0xf001, 5, 0);
	feed_lost(f, 2 * MS, LOST_RING_FULL, 9);
	feed_end(f, 3 * MS);
	assert_int_equal(stats->lost[LOST_STACK], 2);
	assert_int_equal(stats->lost[LOST_RING_FULL], 9);
	assert_int_equal(stats->cpu_samples, 0);
	assert_int_equal(sum_of_classes(stats), 0);
}

CASE(what_leaves_code_is_not_whole)
{
	struct fed *f = *state;
	const uint64_t whole[] = {0x1101, 0x1201}, data[] = {0x1101, 0x9001};

	feed_stack(f, MS, 1, STACK_WHOLE, whole, 0, 2, NULL);
	feed_stack(f, MS, 2, STACK_WHOLE, data, 0, 2, NULL);
	feed_sample(f, MS, 10, 10, 0, 0x1001, 1, 0);
	feed_sample(f, MS, 10, 10, 0, 0x1001, 2, 0);
	assert_int_equal(f->p->stats.whole, 1);
	assert_int_equal(f->p->stats.broken, 1);
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 1, "app+0x100 app+0x1");
}
