/* SPDX-License-Identifier: MIT */
/* Allocations joined with their frees, and how their number is bounded. */
#include "lib/stream/session/sample_feed.h"

#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

#define START 1000u
#define PID 50u

struct fed_allocs {
	struct profile *profile;
	struct tasks tasks;
	struct alloc_feed feed;
};

static int setup(void **state)
{
	struct fed_allocs *f = calloc(1, sizeof(*f));

	f->profile = profile_new();
	f->profile->meta.start_ns = START;
	tasks_init(&f->tasks, f->profile);
	alloc_feed_init(&f->feed, &f->tasks);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fed_allocs *f = *state;

	alloc_feed_release(&f->feed);
	tasks_release(&f->tasks);
	profile_free(f->profile);
	free(f);
	return 0;
}

static void add_on(struct fed_allocs *f, uint16_t cpu, uint64_t time, uint64_t address,
		   uint64_t weighted)
{
	struct rec_alloc rec = {.address = address, .size = 1, .weighted = weighted};
	uint32_t row;

	record_init(&rec.sample.rec, REC_ALLOC, sizeof(rec), START + time, PID, PID);
	rec.sample.rec.cpu = cpu;
	row = alloc_feed_add(&f->feed, tasks_sampled(&f->tasks, &rec.sample.rec, 0), &rec);
	if (row != NO_ALLOC)
		alloc_feed_set_stack(&f->feed, row, START + time, (stack_id)NO_STACK);
}

static void add(struct fed_allocs *f, uint64_t time, uint64_t address, uint64_t weighted)
{
	add_on(f, 0, time, address, weighted);
}

static void give_back_on(struct fed_allocs *f, uint16_t cpu, uint64_t time, uint64_t address)
{
	struct rec_free rec = {.address = address};

	record_init(&rec.rec, REC_FREE, sizeof(rec), START + time, PID, PID);
	rec.rec.cpu = cpu;
	alloc_feed_free(&f->feed, &rec);
}

static void give_back(struct fed_allocs *f, uint64_t time, uint64_t address)
{
	give_back_on(f, 0, time, address);
}

static const struct allocations *finish(struct fed_allocs *f)
{
	alloc_feed_finish(&f->feed);
	return &f->profile->threads.rows.items[0].allocations;
}

TEST_WITH(frees_end_what_has_their_address, setup, teardown)
{
	struct fed_allocs *f = *state;
	const struct allocations *all;

	add(f, 1, 0x10, 100);
	add(f, 2, 0x20, 200);
	give_back(f, 3, 0x10);
	give_back(f, 4, 0x30);
	/* Its free was lost. */
	add(f, 5, 0x20, 300);
	all = finish(f);
	assert_int_equal(all->rows.count, 3);
	assert_int_equal(all->rows.items[0].freed, START + 3);
	assert_int_equal(all->rows.items[1].freed, START + 4);
	assert_int_equal(all->rows.items[2].freed, 0);
	assert_int_equal(f->profile->stats.allocs.matched, 1);
	assert_int_equal(f->profile->stats.allocs.unmatched, 1);
	assert_int_equal(f->profile->stats.allocs.bytes, 600);
	assert_int_equal(f->profile->stats.allocs.held_bytes, 300);
}

static void expect_frees(struct fed_allocs *f, uint64_t matched, uint64_t unmatched, uint64_t held)
{
	assert_int_equal(f->profile->stats.allocs.matched, matched);
	assert_int_equal(f->profile->stats.allocs.unmatched, unmatched);
	assert_int_equal(f->profile->stats.allocs.held_bytes, held);
}

TEST_WITH(clocks_of_cpus_differ, setup, teardown)
{
	struct fed_allocs *f = *state;
	const struct allocations *all;

	add(f, 1, 0x50, 50);
	give_back_on(f, 1, 3, 0x10);
	add_on(f, 0, 5, 0x10, 100);
	/* It has ended: this one is another. */
	add_on(f, 0, 10, 0x10, 200);
	/* Its free comes after the next block has its address. */
	add_on(f, 1, 20, 0x10, 300);
	give_back_on(f, 0, 21, 0x10);
	all = finish(f);
	assert_int_equal(all->rows.items[1].freed, START + 5);
	assert_int_equal(all->rows.items[2].freed, START + 19);
	assert_int_equal(all->rows.items[3].freed, 0);
	expect_frees(f, 2, 0, 350);
}

TEST_WITH(records_may_come_late, setup, teardown)
{
	struct fed_allocs *f = *state;
	const struct allocations *all;

	add(f, 1, 0x50, 50);
	/* The first two blocks of that address are known after the third. */
	give_back(f, 10000000, 0x10);
	give_back(f, 30000000, 0x10);
	add(f, 40000000, 0x10, 100);
	add(f, 9000000, 0x10, 200);
	add(f, 20000000, 0x10, 400);
	/* The free is known after the next block. */
	add(f, 50000000, 0x20, 800);
	add(f, 60000000, 0x20, 1600);
	give_back(f, 59000000, 0x20);
	all = finish(f);
	assert_int_equal(all->rows.count, 6);
	assert_int_equal(all->rows.items[1].freed, START + 10000000);
	assert_int_equal(all->rows.items[2].freed, START + 30000000);
	assert_int_equal(all->rows.items[3].freed, 0);
	assert_int_equal(all->rows.items[4].freed, START + 59999999);
	expect_frees(f, 3, 0, 1750);
}

TEST_WITH(frees_without_allocation_end_nothing, setup, teardown)
{
	struct fed_allocs *f = *state;

	add(f, 1, 0x50, 50);
	/* On one CPU, the order is right: a child frees what its parent had. */
	give_back_on(f, 1, 1, 0x10);
	add_on(f, 1, 2, 0x10, 100);
	/* Long before. */
	give_back_on(f, 1, 3, 0x20);
	add_on(f, 0, 2000000, 0x20, 200);
	/* Forgotten. */
	give_back_on(f, 1, 2000001, 0x30);
	for (uint64_t i = 0; i < LOOSE_ENDS_MAX; i++)
		give_back_on(f, 1, 2000002, 0x1000 + i);
	add_on(f, 0, 2000003, 0x30, 400);
	/* The block before was lost, this one is freed. */
	add_on(f, 1, 2000004, 0x40, 800);
	add_on(f, 0, 2000005, 0x40, 1600);
	give_back_on(f, 0, 2000006, 0x40);
	finish(f);
	expect_frees(f, 1, 3 + LOOSE_ENDS_MAX, 750);
}

static void drop(struct fed_allocs *f, uint64_t time, uint64_t address, uint64_t size)
{
	struct rec_free rec = {.address = address, .size = size};

	record_init(&rec.rec, REC_FREE, sizeof(rec), START + time, PID, PID);
	alloc_feed_free(&f->feed, &rec);
}

TEST_WITH(ranges_free_all_that_is_in_them, setup, teardown)
{
	struct fed_allocs *f = *state;

	drop(f, 1, 0, UINT64_MAX);
	for (uint64_t i = 0; i < 16; i++)
		add(f, 2, (0x100 + i) << 12, 1u << i);
	/* By pages. */
	drop(f, 3, 0x101 << 12, 2 << 12);
	expect_frees(f, 2, 0, 0);
	/* By rows. */
	drop(f, 4, 0x105 << 12, 1000 << 12);
	drop(f, 4, 0, UINT64_MAX);
	drop(f, 5, UINT64_MAX - 4095, UINT64_MAX);
	add(f, 6, 0x101 << 12, 1u << 20);
	drop(f, 7, 0x102 << 12, 4096);
	finish(f);
	expect_frees(f, 16, 0, 1u << 20);
}

/* Half of all blocks are freed; the same half of the bytes has to be, in few rows. */
TEST_WITH(one_of_too_many_stands_for_several, setup, teardown)
{
	enum { COUNT = 40000, MAX = 1000 };
	struct fed_allocs *f = *state;
	const struct allocations *all;
	uint64_t bytes = 0, freed = 0;

	f->feed.max = MAX;
	for (uint64_t i = 1; i <= COUNT; i++) {
		add(f, i, i * 16, 1000);
		if (i % 2)
			give_back(f, i, i * 16);
	}
	all = finish(f);
	assert_true(all->rows.count <= MAX && all->rows.count >= MAX / 4);
	vec_for_each(&all->rows, const struct allocation *, row) {
		bytes += row->bytes;
		freed += row->freed ? row->bytes : 0;
	}
	/* The chosen numbers are always the same: a standard deviation is some 3 %. */
	assert_true(bytes > COUNT * 900ull && bytes < COUNT * 1100ull);
	assert_true(freed > bytes * 2 / 5 && freed < bytes * 3 / 5);
	assert_true(f->profile->stats.allocs.thinned >= COUNT - MAX);
}

TEST_WITH(an_exec_ends_all, setup, teardown)
{
	struct fed_allocs *f = *state;
	const struct allocations *all;

	add(f, 1, 0x10, 100);
	alloc_feed_exec(&f->feed, 0, START + 2);
	add(f, 3, 0x10, 100);
	all = finish(f);
	assert_int_equal(all->rows.count, 2);
	assert_int_equal(all->rows.items[0].freed, START + 2);
	assert_int_equal(all->rows.items[1].freed, 0);
}
