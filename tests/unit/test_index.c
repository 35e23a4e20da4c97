/* SPDX-License-Identifier: MIT */
/* The hash index against a plain table, and properties of the hash function. */

#include <stdlib.h>
#include <string.h>

#include "lib/base/base.h"
#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

static int compared;

/* Rows are keys: table[id] is the key of row id. */
static bool same_u64(const void *table, uint32_t id, const void *key)
{
	compared++;
	return ((const uint64_t *)table)[id] == *(const uint64_t *)key;
}

TEST(test_empty)
{
	struct index ix = {0};
	uint64_t key = 1;

	assert_int_equal(index_find(&ix, 1, same_u64, &key, &key), INDEX_NONE);
	index_remove(&ix, 1, 0);
	index_release(&ix);
	assert_null(ix.slots);
}

/* Random additions and removals of few keys, with hashes from good to all alike. */
static void check_against_model(uint64_t (*hash)(uint64_t key))
{
	enum { ROWS = 200, STEPS = 20000 };
	uint64_t keys[ROWS], random = 1;
	bool present[ROWS] = {false};
	struct index ix = {0};
	uint32_t count = 0;

	for (uint32_t i = 0; i < ROWS; i++)
		keys[i] = i * 4096ull;
	for (int step = 0; step < STEPS; step++) {
		uint32_t row = (uint32_t)((random = hash_u64(random + 1)) % ROWS);
		uint32_t seen = index_find(&ix, hash(keys[row]), same_u64, keys, &keys[row]);

		assert_int_equal(seen, present[row] ? row : INDEX_NONE);
		if (!present[row]) {
			index_add(&ix, hash(keys[row]), row);
			count++;
		} else {
			index_remove(&ix, hash(keys[row]), row);
			count--;
			/* Once more does nothing. */
			index_remove(&ix, hash(keys[row]), row);
		}
		present[row] = !present[row];
		assert_int_equal(ix.count, count);
	}
	for (uint32_t row = 0; row < ROWS; row++) {
		uint32_t seen = index_find(&ix, hash(keys[row]), same_u64, keys, &keys[row]);

		assert_int_equal(seen, present[row] ? row : INDEX_NONE);
	}
	index_release(&ix);
	assert_int_equal(ix.count, 0);
	assert_int_equal(index_find(&ix, hash(keys[0]), same_u64, keys, &keys[0]), INDEX_NONE);
	index_add(&ix, hash(keys[0]), 0);
	assert_int_equal(index_find(&ix, hash(keys[0]), same_u64, keys, &keys[0]), 0);
	index_release(&ix);
}

static uint64_t no_hash(uint64_t key)
{
	return UINT64_MAX;
}

static uint64_t key_as_hash(uint64_t key)
{
	return key;
}

static uint64_t few_hashes(uint64_t key)
{
	return key / 4096 % 7;
}

TEST(test_against_model)
{
	check_against_model(hash_u64);
	check_against_model(key_as_hash);
	check_against_model(few_hashes);
	check_against_model(no_hash);
}

/* Hashes may be keys such as page addresses: probes stay short, and no row is compared in vain. */
static void check_spread(unsigned int shift)
{
	enum { ROWS = 100000 };
	uint64_t *keys = xcalloc(ROWS, sizeof(*keys));
	struct index ix = {0};
	uint32_t longest = 0, run = 0;

	for (uint32_t i = 0; i < ROWS; i++) {
		keys[i] = (uint64_t)i << shift;
		index_add(&ix, keys[i], i);
	}
	assert_true(ix.count <= ix.capacity / 4 * 3);
	compared = 0;
	for (uint32_t i = 0; i < ROWS; i++)
		assert_int_equal(index_find(&ix, keys[i], same_u64, keys, &keys[i]), i);
	assert_in_range(compared, ROWS, ROWS + ROWS / 100);
	for (uint32_t i = 0; i < ix.capacity; i++) {
		run = ix.slots[i].id == INDEX_NONE ? 0 : run + 1;
		longest = run > longest ? run : longest;
	}
	assert_in_range(longest, 1, 500);
	index_release(&ix);
	free(keys);
}

TEST(test_weak_hashes_spread)
{
	check_spread(0);
	check_spread(3);
	check_spread(12);
	check_spread(32);
	check_spread(44);
}

static void check_distinct(uint64_t *hashes, size_t count)
{
	qsort(hashes, count, sizeof(*hashes), u64_compare);
	for (size_t i = 1; i < count; i++)
		assert_int_not_equal(hashes[i - 1], hashes[i]);
}

/* All strings of up to two bytes, and zeros of every length: cases that weak tails mix up. */
TEST(test_hash_of_short_strings)
{
	size_t count = 0;
	uint64_t *hashes = xcalloc(1 + 256 + 65536 + 100, sizeof(*hashes));
	uint8_t zeros[103] = {0};

	hashes[count++] = hash_bytes(NULL, 0, 0);
	for (unsigned int i = 0; i < 256; i++)
		hashes[count++] = hash_bytes(&(uint8_t){(uint8_t)i}, 1, 0);
	for (unsigned int i = 0; i < 65536; i++)
		hashes[count++] = hash_bytes(&(uint16_t){(uint16_t)i}, 2, 0);
	for (size_t size = 3; size <= sizeof(zeros) - 1; size++)
		hashes[count++] = hash_bytes(zeros, size, 0);
	check_distinct(hashes, count);
	free(hashes);
}

/* Every bit of every length counts, at any alignment, and no bit past the end does. */
TEST(test_hash_sees_every_bit)
{
	for (size_t size = 1; size <= 40; size++) {
		uint64_t *hashes = xcalloc(size * 8 + 1, sizeof(*hashes));
		uint8_t *data = xmalloc(size), shifted[48];

		for (size_t i = 0; i < size; i++)
			data[i] = (uint8_t)(i * 37 + 11);
		hashes[size * 8] = hash_bytes(data, size, 5);
		assert_int_not_equal(hash_bytes(data, size, 6), hashes[size * 8]);
		for (size_t offset = 0; offset < 8; offset++) {
			memset(shifted, (int)offset, sizeof(shifted));
			memcpy(shifted + offset, data, size);
			assert_int_equal(hash_bytes(shifted + offset, size, 5), hashes[size * 8]);
		}
		for (size_t bit = 0; bit < size * 8; bit++) {
			data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			hashes[bit] = hash_bytes(data, size, 5);
			data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		check_distinct(hashes, size * 8 + 1);
		free(data);
		free(hashes);
	}
}

/* Chains of addresses differ in one word, or in the order of two. */
TEST(test_hash_of_chains)
{
	enum { DEPTH = 16, CHAINS = 20000 };
	uint64_t *hashes = xcalloc(CHAINS * 2, sizeof(*hashes));
	uint64_t chain[DEPTH];

	for (uint64_t i = 0; i < DEPTH; i++)
		chain[i] = 0x7f0000000000ull + i * 0x1000;
	for (uint64_t i = 0; i < CHAINS; i++) {
		uint64_t first = chain[3];

		chain[3] = 0x400000 + i * 16;
		hashes[i * 2] = hash_bytes(chain, sizeof(chain), 0);
		chain[4] = chain[3];
		chain[3] = 0x7f0000004000ull;
		hashes[i * 2 + 1] = hash_bytes(chain, sizeof(chain), 0);
		chain[4] = 0x7f0000004000ull;
		chain[3] = first;
	}
	check_distinct(hashes, CHAINS * 2);
	free(hashes);
}
