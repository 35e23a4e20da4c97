/* SPDX-License-Identifier: MIT */
/*
 * Tests that register themselves: each TEST() { ... } is one, run in the order of the file. Within
 * it, `state` is what the fixture has set. test.c has main().
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Adds a test that stands in that line of the file. */
void test_register(const struct CMUnitTest *test, int line);

/* A test with a fixture of its own; NULL: none. */
#define TEST_WITH(name, setup, teardown) \
	static void name(void **state); \
	__attribute__((constructor)) static void register_##name(void) \
	{ \
		test_register(&(const struct CMUnitTest){#name, name, setup, teardown, NULL}, \
			      __LINE__); \
	} \
	static void name(void **state __attribute__((unused)))

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A fixture for all tests of the program together. */
#define TEST_GROUP(setup, teardown) \
	__attribute__((constructor)) static void register_group(void) \
	{ \
		test_group(setup, teardown); \
	} \
	_Static_assert(1, "")

void test_group(CMFixtureFunction setup, CMFixtureFunction teardown);
