/* SPDX-License-Identifier: MIT */

#include "lib/base/address_ranges.h"
#include "tests/unit/test.h"

TEST(test_cover)
{
	struct address_ranges r = {0};

	assert_false(address_ranges_cover(&r, 0));
	assert_true(address_ranges_add(&r, 30, 40));
	assert_true(address_ranges_add(&r, 10, 20));
	assert_true(address_ranges_add(&r, 20, 30));
	assert_true(address_ranges_add(&r, UINT64_MAX - 1, UINT64_MAX));
	assert_false(address_ranges_cover(&r, 9));
	for (uint64_t addr = 10; addr < 40; addr++)
		assert_true(address_ranges_cover(&r, addr));
	assert_false(address_ranges_cover(&r, 40));
	assert_true(address_ranges_cover(&r, UINT64_MAX - 1));
	assert_false(address_ranges_cover(&r, UINT64_MAX));
	for (size_t i = 1; i < r.rows.count; i++)
		assert_true(r.rows.items[i - 1].end <= r.rows.items[i].start);
	address_ranges_release(&r);
}

TEST(test_the_older_one_stays)
{
	struct address_ranges r = {0};

	assert_true(address_ranges_add(&r, 10, 20));
	assert_false(address_ranges_add(&r, 5, 11));
	assert_false(address_ranges_add(&r, 19, 25));
	assert_false(address_ranges_add(&r, 12, 13));
	assert_false(address_ranges_add(&r, 5, 25));
	assert_false(address_ranges_add(&r, 30, 30));
	assert_false(address_ranges_add(&r, 40, 30));
	assert_int_equal(r.rows.count, 1);
	address_ranges_release(&r);
}
