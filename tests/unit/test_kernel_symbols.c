/* SPDX-License-Identifier: MIT */

#include <string.h>

#include "lib/live/kernel/kernel_space.h"
#include "tests/unit/test.h"

#define ADDR 0xffffffff81001012

TEST(what_the_kernel_says)
{
	struct kernel_symbol_text symbol;

	assert_true(kernel_symbol_parse(&symbol, ADDR, "do_syscall_64+0x12/0x20"));
	assert_int_equal(symbol.start, 0xffffffff81001000);
	assert_int_equal(symbol.size, 0x20);
	assert_int_equal(symbol.name_size, strlen("do_syscall_64"));
	assert_memory_equal(symbol.name, "do_syscall_64", symbol.name_size);
	assert_null(symbol.module);
	assert_true(kernel_symbol_parse(&symbol, ADDR, "ext4_read+0x2/0x3 [ext4]"));
	assert_int_equal(symbol.start, 0xffffffff81001010);
	assert_int_equal(symbol.size, 3);
	assert_int_equal(symbol.name_size, strlen("ext4_read"));
	assert_string_equal(symbol.module, "[ext4]");
}

TEST(what_is_no_symbol)
{
	static const char *const texts[] = {
		"",
		"0xffffffff81001012",
		"+0x12/0x20",
		"name",
		"name+12/20",
		"name+0x12",
		"name+0x12/",
		"name+0x12/0x",
		"name+0x12/0x20x",
		"name+0x20/0x20",
		"name+0xffffffffffffffff/0x20",
		"name+0x0/0xffffffffffffffff",
	};
	struct kernel_symbol_text symbol;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(kernel_symbol_parse(&symbol, ADDR, texts[i]));
}
