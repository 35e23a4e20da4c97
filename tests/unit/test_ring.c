/* SPDX-License-Identifier: MIT */
/* Reads a ring that is written meanwhile, in memory that imitates one. */
#include <stdlib.h>
#include <string.h>

#include "lib/live/bpf/ring.h"
#include "tests/unit/test.h"

#define SIZE 4096u
#define BUSY (1u << 31)
#define DISCARDED (1u << 30)

struct fixture {
	struct ring ring;
	unsigned long consumed, produced;
	uint8_t data[2 * SIZE] __attribute__((aligned(8)));
	uint32_t seen[SIZE];
	size_t count;
	uint32_t more; /* records written while one is read */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->ring = (struct ring){
		.fd = -1,
		.size = SIZE,
		.consumed = &f->consumed,
		.produced = &f->produced,
		.data = f->data,
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* The second half shows the same memory as the first. */
static void put(struct fixture *f, unsigned long at, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t place = (at + i) % SIZE;

		f->data[place] = f->data[place + SIZE] = ((const uint8_t *)bytes)[i];
	}
}

/* Writes a record of two words, the first of which is the number. */
static unsigned long write_record(struct fixture *f, uint32_t number, uint32_t flags)
{
	const uint32_t words[] = {12 | flags, 0, number, 0, ~number, 0};
	unsigned long at = f->produced;

	put(f, at, words, sizeof(words));
	f->produced += sizeof(words);
	return at;
}

static void see(void *ctx, const void *data, size_t size)
{
	struct fixture *f = ctx;
	uint32_t words[3];

	assert_int_equal(size, sizeof(words));
	memcpy(words, data, sizeof(words));
	assert_int_equal(words[2], ~words[0]);
	assert_in_range(f->count, 0, SIZE - 1);
	f->seen[f->count++] = words[0];
	for (uint32_t i = 0; i < f->more; i++)
		write_record(f, words[0] + 1000, 0);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(all_is_handed_over_in_order_and_once)
{
	struct fixture *f = *state;
	uint32_t number = 0;

	ring_drain(&f->ring, see, f);
	assert_int_equal(f->count, 0);
	/* Goes around the ring some times: 24 does not divide its size. */
	for (unsigned int round = 0; round < 50; round++) {
		for (unsigned int i = 0; i < 30; i++)
			write_record(f, number++, 0);
		f->count = 0;
		ring_drain(&f->ring, see, f);
		assert_int_equal(f->count, 30);
		for (unsigned int i = 0; i < 30; i++)
			assert_int_equal(f->seen[i], number - 30 + i);
		assert_int_equal(f->consumed, f->produced);
	}
}

CASE(what_is_being_written_waits_with_all_behind)
{
	struct fixture *f = *state;
	const uint32_t complete = 12;
	unsigned long at;

	write_record(f, 1, 0);
	at = write_record(f, 2, BUSY);
	write_record(f, 3, 0);
	assert_true(ring_is_blocked(&f->ring));
	assert_false(ring_drain(&f->ring, see, f));
	assert_int_equal(f->count, 1);
	assert_int_equal(f->consumed, at);
	assert_true(ring_is_blocked(&f->ring));
	put(f, at, &complete, sizeof(complete));
	assert_false(ring_is_blocked(&f->ring));
	assert_true(ring_drain(&f->ring, see, f));
	assert_int_equal(f->count, 3);
	assert_int_equal(f->seen[2], 3);
}

CASE(in_the_end_only_what_is_being_written_is_left_out)
{
	struct fixture *f = *state;

	write_record(f, 1, BUSY);
	write_record(f, 2, 0);
	write_record(f, 3, DISCARDED);
	write_record(f, 4, BUSY);
	write_record(f, 5, 0);
	assert_int_equal(ring_drain_rest(&f->ring, see, f), 2);
	assert_int_equal(f->count, 2);
	assert_int_equal(f->seen[0], 2);
	assert_int_equal(f->seen[1], 5);
	assert_int_equal(ring_drain_rest(&f->ring, see, f), 0);
}

CASE(what_was_given_up_is_left_out)
{
	struct fixture *f = *state;

	write_record(f, 1, DISCARDED);
	write_record(f, 2, 0);
	write_record(f, 3, DISCARDED);
	ring_drain(&f->ring, see, f);
	assert_int_equal(f->count, 1);
	assert_int_equal(f->seen[0], 2);
	assert_int_equal(f->consumed, f->produced);
}

CASE(what_comes_meanwhile_is_for_the_next_time)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 10; i++)
		write_record(f, i, 0);
	f->more = 1;
	ring_drain(&f->ring, see, f);
	/* Otherwise a fast writer would keep its reader busy forever. */
	assert_int_equal(f->count, 10);
	f->more = 0;
	ring_drain(&f->ring, see, f);
	assert_int_equal(f->count, 20);
	assert_int_equal(f->seen[10], 1000);
	assert_int_equal(f->seen[19], 1009);
}
