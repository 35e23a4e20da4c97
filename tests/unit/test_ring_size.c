/* SPDX-License-Identifier: MIT */
/* The size of a CPU's ring, by wish and by rate. */

#include "lib/live/machine/host.h"
#include "tests/unit/test.h"

TEST(the_default_holds_a_second)
{
	assert_int_equal(ring_size(0, 1001001, 0), 2 << 20);
	assert_int_equal(ring_size(0, 2000000000, 0), 2 << 20);
	assert_int_equal(ring_size(0, 1000000, 0), 2 << 20);
	assert_int_equal(ring_size(0, 333333, 0), 8 << 20);
	assert_int_equal(ring_size(0, 250000, 0), 8 << 20);
	assert_int_equal(ring_size(0, 10000, 0), 16 << 20);
}

TEST(a_wish_is_rounded_up)
{
	assert_int_equal(ring_size(1 << 16, 10000, 0), 1 << 16);
	assert_int_equal(ring_size((1 << 16) + 1, 1001001, 0), 1 << 17);
	assert_int_equal(ring_size(1ull << 40, 1001001, 0), 1ull << 30);
}

TEST(a_machine_has_more_but_not_too_much)
{
	assert_int_equal(ring_size(0, 1000000, 2), 8 << 20);
	assert_int_equal(ring_size(0, 50000000, 2), 2 << 20);
	assert_int_equal(ring_size(0, 1000000, 16), 4 << 20);
	assert_int_equal(ring_size(0, 1001001, 4096), 2 << 20);
	assert_int_equal(ring_size(0, 10000, 2), 16 << 20);
	assert_int_equal(ring_size(1 << 16, 1001001, 2), 1 << 16);
}
