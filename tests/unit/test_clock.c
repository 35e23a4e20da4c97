/* SPDX-License-Identifier: MIT */
/* Times that files tell, and numbers that are none. */
#include <math.h>

#include "lib/base/base.h"
#include "tests/unit/test.h"

TEST(times_end_after_a_century)
{
	assert_true(clock_can_show(0));
	assert_true(clock_can_show(clock_realtime_ns()));
	assert_true(clock_can_show(CLOCK_TIME_MAX));
	assert_false(clock_can_show(CLOCK_TIME_MAX + 1));
	assert_false(clock_can_show(0xffffffff00000000));
	assert_false(clock_can_show((uint64_t)INT64_MIN));
	assert_false(clock_can_show(CLOCK_NO_TIME));
}

TEST(computed_times_are_rounded)
{
	assert_int_equal(clock_time_from(0), 0);
	assert_int_equal(clock_time_from(1.5), 2);
	assert_int_equal(clock_time_from(1e18), 1000000000000000000);
	assert_int_equal(clock_time_from(-1), CLOCK_NO_TIME);
	assert_int_equal(clock_time_from(1e19), CLOCK_NO_TIME);
	assert_int_equal(clock_time_from(NAN), CLOCK_NO_TIME);
	assert_int_equal(clock_time_from(INFINITY), CLOCK_NO_TIME);
}
