/* SPDX-License-Identifier: MIT */

#include <string.h>

#include "symbolize/kernel/kernel_table.h"
#include "tests/unit/test.h"

#define BASE 0xffffffff81000000

static void add(struct kernel_table *t, uint64_t offset, uint64_t size, const char *name,
		const char *module)
{
	kernel_table_add(t, BASE + offset, size, name, strlen(name), module);
}

static void check(const struct kernel_table *t, uint64_t offset, const char *name, uint64_t start,
		  uint64_t size)
{
	struct kernel_symbol symbol;

	if (!name) {
		assert_false(kernel_table_find(t, BASE + offset, &symbol));
		return;
	}
	assert_true(kernel_table_find(t, BASE + offset, &symbol));
	assert_string_equal(symbol.name, name);
	assert_int_equal(symbol.start, BASE + start);
	assert_int_equal(symbol.size, size);
}

TEST(symbols_reach_as_far_as_told)
{
	struct kernel_table *t = kernel_table_new();

	add(t, 0x100, 0x20, "first", NULL);
	add(t, 0x120, 0x10, "second", NULL);
	add(t, 0x200, 0, "of_unknown_size", NULL);
	add(t, 0x300, (uint64_t)1 << 40, "too_large", NULL);
	kernel_table_seal(t);
	check(t, 0xff, NULL, 0, 0);
	check(t, 0x11f, "first", 0x100, 0x20);
	check(t, 0x12f, "second", 0x120, 0x10);
	check(t, 0x130, NULL, 0, 0);
	check(t, 0x2ff, "of_unknown_size", 0x200, 0x100);
	check(t, 0x300 + KERNEL_FUNC_SIZE_MAX - 1, "too_large", 0x300, 0);
	check(t, 0x300 + KERNEL_FUNC_SIZE_MAX, NULL, 0, 0);
	kernel_table_free(t);
}

TEST(any_order_will_do)
{
	struct kernel_table *t = kernel_table_new();

	add(t, 0x900, 0x10, "last", NULL);
	/* Claims to reach into the next. */
	add(t, 0x100, 0x100, "long", NULL);
	add(t, 0x180, 0x80, "next", NULL);
	add(t, 0x180, 0x80, "__pfx_next", NULL);
	kernel_table_seal(t);
	check(t, 0x17f, "long", 0x100, 0x80);
	check(t, 0x180, "next", 0x180, 0x80);
	check(t, 0x908, "last", 0x900, 0x10);
	kernel_table_free(t);
}

TEST(modules_are_kept_beside_names)
{
	struct kernel_table *t = kernel_table_new();
	struct kernel_symbol symbol;

	kernel_table_add(t, BASE, 4, "name+0x0", strlen("name"), "[ext4]");
	kernel_table_add(t, BASE + 4, 4, "image's", strlen("image"), NULL);
	kernel_table_seal(t);
	assert_true(kernel_table_find(t, BASE, &symbol));
	assert_string_equal(symbol.name, "name");
	assert_string_equal(symbol.module, "[ext4]");
	assert_true(kernel_table_find(t, BASE + 4, &symbol));
	assert_string_equal(symbol.name, "image");
	assert_null(symbol.module);
	kernel_table_free(t);
}

TEST(an_empty_one_knows_nothing)
{
	struct kernel_table *t = kernel_table_new();

	kernel_table_seal(t);
	check(t, 0, NULL, 0, 0);
	kernel_table_free(t);
	kernel_table_free(NULL);
}
