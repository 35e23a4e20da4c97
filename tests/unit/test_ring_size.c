/* SPDX-License-Identifier: MIT */
/* The size of a CPU's ring, by wish and by rate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/live/machine/ring_size.h"

static void the_default_holds_a_second(void **state)
{
	(void)state;
	assert_int_equal(ring_size(0, 1001001), 2 << 20);
	assert_int_equal(ring_size(0, 2000000000), 2 << 20);
	assert_int_equal(ring_size(0, 1000000), 2 << 20);
	assert_int_equal(ring_size(0, 333333), 8 << 20);
	assert_int_equal(ring_size(0, 250000), 8 << 20);
	assert_int_equal(ring_size(0, 10000), 16 << 20);
}

static void a_wish_is_rounded_up(void **state)
{
	(void)state;
	assert_int_equal(ring_size(1 << 16, 10000), 1 << 16);
	assert_int_equal(ring_size((1 << 16) + 1, 1001001), 1 << 17);
	assert_int_equal(ring_size(1ull << 40, 1001001), 1ull << 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_holds_a_second),
		cmocka_unit_test(a_wish_is_rounded_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
