/* SPDX-License-Identifier: MIT */
/* How large the ring of a CPU is, by wish and by rate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/live/machine/ring_size.h"

static void the_default_holds_a_second(void **state)
{
	(void)state;
	assert_int_equal(ring_size(0, 999, 0), 2 << 20);
	assert_int_equal(ring_size(0, 0.5, 0), 2 << 20);
	assert_int_equal(ring_size(0, 3000, 0), 8 << 20);
	assert_int_equal(ring_size(0, 0, 250000), 8 << 20);
	assert_int_equal(ring_size(0, 100000, 0), 16 << 20);
}

static void a_wish_is_rounded_up(void **state)
{
	(void)state;
	assert_int_equal(ring_size(1 << 16, 100000, 0), 1 << 16);
	assert_int_equal(ring_size((1 << 16) + 1, 999, 0), 1 << 17);
	assert_int_equal(ring_size(1ull << 40, 999, 0), 1ull << 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_holds_a_second),
		cmocka_unit_test(a_wish_is_rounded_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
