/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/base/vec.h"
#include "tests/unit/test.h"

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Sorts numbers of so many bits, with many equal ones; `value` is their previous order. */
static void check(size_t count, unsigned int bits, uint64_t high)
{
	struct radix_row *rows = xmalloc((count + 1) * sizeof(*rows));
	uint64_t state = 88172645463325252, sum = 0, sum_after = 0;

	for (size_t i = 0; i < count; i++) {
		rows[i].key = (next_random(&state) >> (64 - bits)) | high;
		rows[i].value = (uint32_t)i;
		sum += rows[i].key * (i + 1);
	}
	radix_sort(rows, count);
	for (size_t i = 0; i < count; i++)
		sum_after += rows[i].key * (rows[i].value + 1);
	assert_int_equal(sum, sum_after);
	for (size_t i = 1; i < count; i++) {
		assert_true(rows[i - 1].key <= rows[i].key);
		if (rows[i - 1].key == rows[i].key)
			assert_true(rows[i - 1].value < rows[i].value);
	}
	free(rows);
}

TEST(sorts_and_keeps_the_order_of_equals)
{
	static const size_t counts[] = {0, 1, 2, 3, 63, 64, 65, 1000, 50000};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		check(counts[i], 64, 0);
		check(counts[i], 5, 0);
		check(counts[i], 12, 0);
		check(counts[i], 34, UINT64_C(1) << 63);
	}
}
