/* SPDX-License-Identifier: MIT */
/* The size of a CPU's ring, by wish and by rate. */

#include "lib/live/machine/ring_size.h"
#include "tests/unit/test.h"

TEST(the_default_holds_a_second)
{
	assert_int_equal(ring_size(0, 1001001), 2 << 20);
	assert_int_equal(ring_size(0, 2000000000), 2 << 20);
	assert_int_equal(ring_size(0, 1000000), 2 << 20);
	assert_int_equal(ring_size(0, 333333), 8 << 20);
	assert_int_equal(ring_size(0, 250000), 8 << 20);
	assert_int_equal(ring_size(0, 10000), 16 << 20);
}

TEST(a_wish_is_rounded_up)
{
	assert_int_equal(ring_size(1 << 16, 10000), 1 << 16);
	assert_int_equal(ring_size((1 << 16) + 1, 1001001), 1 << 17);
	assert_int_equal(ring_size(1ull << 40, 1001001), 1ull << 30);
}
