/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/paged_section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define SIZE ((size_t)1 << 20)
/* Maximum size of an uncompressed block. */
#define BLOCK 65535

static uint8_t plain[SIZE], out[SIZE];
static struct strbuf packed;
static int file = -1;

static uint32_t adler32(const uint8_t *data, size_t size)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < size; i++) {
		a = (a + data[i]) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

/* RFC 1950 and 1951: blocks that are stored as they are. */
static int setup(void **state)
{
	uint32_t sum;

	memset(out, 0, sizeof(out));
	for (size_t i = 0; i < SIZE; i++)
		plain[i] = (uint8_t)(i / 251 + i % 7 + 1);
	strbuf_reset(&packed);
	strbuf_add(&packed, "\x78\x01", 2);
	for (size_t at = 0; at < SIZE; at += BLOCK) {
		uint16_t size = (uint16_t)(SIZE - at < BLOCK ? SIZE - at : BLOCK);
		uint16_t inverse = (uint16_t)~size;

		strbuf_addch(&packed, at + size == SIZE);
		strbuf_add(&packed, &size, sizeof(size));
		strbuf_add(&packed, &inverse, sizeof(inverse));
		strbuf_add(&packed, plain + at, size);
	}
	sum = __builtin_bswap32(adler32(plain, SIZE));
	strbuf_add(&packed, &sum, sizeof(sum));
	return 0;
}

static int teardown(void **state)
{
	strbuf_release(&packed);
	close(file);
	return 0;
}

/* Puts the packed bytes into a file, not at its start. */
static struct unpacker *open_packed(size_t size, size_t out_size)
{
	struct file_part from;

	if (file >= 0)
		close(file);
	file = memfd_create("packed", MFD_CLOEXEC);
	from = (struct file_part){file, 5, size};
	assert_int_equal(pwrite(file, packed.text, packed.size, 5), packed.size);
	return unpacker_new(&from, out, out_size);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(test_at_once)
{
	struct unpacker *u = open_packed(packed.size, SIZE);

	assert_int_equal(unpacker_run(u, SIZE, NULL), 0);
	assert_memory_equal(out, plain, SIZE);
	unpacker_free(u);
}

/* A page more than what comes out is read, not all. */
CASE(test_reads_what_it_needs)
{
	struct unpacker *u = open_packed(packed.size, SIZE);

	assert_int_equal(ftruncate(file, SIZE / 2), 0);
	assert_int_equal(unpacker_run(u, SIZE / 4, NULL), 0);
	assert_memory_equal(out, plain, SIZE / 4);
	assert_int_equal(unpacker_run(u, SIZE, NULL), -ENOEXEC);
	unpacker_free(u);
}

CASE(test_in_steps)
{
	static const size_t steps[] = {0, 1, 1000, 1000, 999, 70000, SIZE - 1, SIZE, SIZE, 5};
	struct unpacker *u = open_packed(packed.size, SIZE);
	size_t done = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_int_equal(unpacker_run(u, steps[i], NULL), 0);
		done = steps[i] > done ? steps[i] : done;
		/* Parts that were not asked for are missing. */
		assert_int_equal(unpacker_done(u), done);
		assert_memory_equal(out, plain, done);
		assert_true(done == SIZE || !out[done]);
	}
	unpacker_free(u);
	unpacker_free(NULL);
}

static void check_damaged(size_t size, size_t out_size, size_t fine, size_t until)
{
	struct unpacker *u = open_packed(size, out_size);

	assert_int_equal(unpacker_run(u, fine, NULL), 0);
	assert_int_equal(unpacker_run(u, until, NULL), -ENOEXEC);
	/* Fails from then on, also for parts that were there. */
	assert_int_equal(unpacker_run(u, fine, NULL), -ENOEXEC);
	assert_int_equal(unpacker_run(u, until, NULL), -ENOEXEC);
	unpacker_free(u);
}

CASE(test_damage)
{
	/* Cut off; too small; too large. */
	check_damaged(SIZE / 2, SIZE, 1000, SIZE - 1);
	check_damaged(packed.size, SIZE + 1, SIZE, SIZE + 1);
	check_damaged(packed.size, SIZE - 1, 1000, SIZE - 1);
	/* The checksum at the end fails with the last byte. */
	packed.text[packed.size - 1] ^= 1;
	check_damaged(packed.size, SIZE, SIZE - 1, SIZE);
	/* A block type that does not exist, which may be noticed early. */
	packed.text[2 + 8 * (5 + BLOCK)] = 6;
	check_damaged(packed.size, SIZE, 4 * BLOCK, 8 * BLOCK + 10);
}
