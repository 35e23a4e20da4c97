/* SPDX-License-Identifier: MIT */
#include "tests/unit/test.h"

#include <stdlib.h>

#define TESTS_MAX 200

static struct CMUnitTest tests[TESTS_MAX];
static int lines[TESTS_MAX];
static size_t count;
static CMFixtureFunction group_setup, group_teardown;

void test_register(const struct CMUnitTest *test, int line)
{
	size_t at = count++;

	if (count > TESTS_MAX)
		abort();
	for (; at && lines[at - 1] > line; at--) {
		tests[at] = tests[at - 1];
		lines[at] = lines[at - 1];
	}
	tests[at] = *test;
	lines[at] = line;
}

void test_group(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	group_setup = setup;
	group_teardown = teardown;
}

int main(void)
{
	return _cmocka_run_group_tests("tests", tests, count, group_setup, group_teardown);
}
