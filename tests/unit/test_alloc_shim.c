/* SPDX-License-Identifier: MIT */
/* The parts of prof-alloc.so: the table of sampled blocks, and the choice of allocations. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/live/alloc_shim/sampled_blocks.h"
#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

TEST(what_was_added_can_be_taken_once)
{
	struct block_table *t = xcalloc(1, sizeof(*t));

	assert_false(block_table_may_have(t, 0x1000));
	assert_false(block_table_take(t, 0x1000));
	assert_true(block_table_add(t, 0x1000));
	assert_true(block_table_add(t, 0x1000));
	assert_true(block_table_may_have(t, 0x1000));
	/* The filter knows pages, the table blocks. */
	assert_true(block_table_may_have(t, 0x1ff0));
	assert_false(block_table_take(t, 0x1ff0));
	assert_true(block_table_take(t, 0x1000));
	assert_false(block_table_take(t, 0x1000));
	assert_false(block_table_may_have(t, 0x1000));
	free(t);
}

TEST(nothing_is_no_block)
{
	struct block_table *t = xcalloc(1, sizeof(*t));
	uint64_t address = 0x1000;

	/* One in the slots of the filter that 0 has. */
	while (block_filter(t, address) != block_filter(t, 0))
		address += 0x1000;
	assert_true(block_table_add(t, address));
	assert_true(block_table_may_have(t, 0));
	assert_false(block_table_take(t, 0));
	assert_true(block_table_may_have(t, address));
	assert_true(block_table_take(t, address));
	free(t);
}

TEST(what_has_no_room_is_refused)
{
	struct block_table *t = xcalloc(1, sizeof(*t));
	uint64_t added = 0, taken = 0;

	for (uint64_t i = 1; i <= 2 * BLOCKS_MAX; i++)
		added += block_table_add(t, i * 16);
	assert_true(added > BLOCKS_MAX * 3 / 4 && added <= BLOCKS_MAX);
	for (uint64_t i = 1; i <= 2 * BLOCKS_MAX; i++)
		taken += block_table_take(t, i * 16);
	assert_true(taken == added);
	for (size_t i = 0; i < BLOCK_FILTER; i++)
		assert_int_equal(t->filter[i], 0);
	free(t);
}

enum { THREADS = 64, ROUNDS = 300, BLOCKS = 40 };

struct worker {
	pthread_t thread;
	struct block_table *table;
	/* Blocks that the worker before has added, for this one to take. */
	uint64_t *mailbox, *next_mailbox;
	uint64_t number, added, taken;
};

/* Takes what others have added, as threads free what others allocated. */
static void *work(void *arg)
{
	struct worker *w = arg;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < BLOCKS; i++) {
			uint64_t address = ((round * THREADS + w->number) * BLOCKS + i + 1) * 16;
			uint64_t other;

			if (!block_table_add(w->table, address))
				continue;
			w->added++;
			other = __atomic_exchange_n(&w->next_mailbox[i], address, __ATOMIC_ACQ_REL);
			w->taken += other && block_table_take(w->table, other);
			other = __atomic_exchange_n(&w->mailbox[i], 0, __ATOMIC_ACQ_REL);
			w->taken += other && block_table_take(w->table, other);
		}
	}
	return NULL;
}

TEST(threads_lose_nothing)
{
	static uint64_t mailboxes[THREADS][BLOCKS];
	struct block_table *t = xcalloc(1, sizeof(*t));
	struct worker workers[THREADS] = {0};
	uint64_t added = 0, taken = 0;

	for (uint64_t i = 0; i < THREADS; i++) {
		workers[i].table = t;
		workers[i].number = i;
		workers[i].mailbox = mailboxes[i];
		workers[i].next_mailbox = mailboxes[(i + 1) % THREADS];
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		added += workers[i].added;
		taken += workers[i].taken;
	}
	for (size_t i = 0; i < THREADS; i++) {
		for (size_t b = 0; b < BLOCKS; b++)
			taken += mailboxes[i][b] && block_table_take(t, mailboxes[i][b]);
	}
	assert_int_equal(added, taken);
	assert_true(added == (uint64_t)THREADS * ROUNDS * BLOCKS);
	for (size_t i = 0; i < BLOCK_FILTER; i++)
		assert_int_equal(t->filter[i], 0);
	free(t);
}

TEST(weights_are_exact)
{
	static const double sizes[] = {1, 16, 4096, 300000, 524288, 3 << 20, 1e12};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		double expected = sizes[i] / -expm1(-sizes[i] / 524288);
		double found = (double)byte_sampler_weight((uint64_t)sizes[i], 524288);

		assert_true(fabs(found - expected) <= 0.5 + expected * 1e-9);
	}
	assert_int_equal(byte_sampler_weight(1000, 1), 1000);
}

/* Samples allocations of one size; returns how many bytes they stand for. */
static double estimate(struct byte_sampler *s, uint64_t size, uint64_t count, double mean)
{
	double sum = 0;

	for (uint64_t i = 0; i < count; i++) {
		if (byte_sampler_passes(s, size))
			continue;
		byte_sampler_draw(s, mean);
		sum += (double)byte_sampler_weight(size, mean);
	}
	return sum;
}

/* Seeds are fixed: what passes once passes always. */
TEST(sums_are_right)
{
	static const uint64_t sizes[] = {16, 4096, 3 << 20};
	const double mean = 524288, bytes = 4e9;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		double size = (double)sizes[i], chance = -expm1(-size / mean);
		uint64_t count = (uint64_t)(bytes / size);
		double sigma = size * sqrt((double)count * (1 - chance) / chance);
		struct byte_sampler s = {0};

		for (uint64_t seed = 1; seed <= 3; seed++) {
			byte_sampler_begin(&s, seed, mean);
			assert_true(fabs(estimate(&s, sizes[i], count, mean) -
					 size * (double)count) < 3 * sigma);
		}
	}
}

TEST(seeds_matter)
{
	struct byte_sampler one = {0}, other = {0};

	byte_sampler_begin(&one, 1, 1e9);
	byte_sampler_begin(&other, 2, 1e9);
	assert_true(one.distance != other.distance);
}
