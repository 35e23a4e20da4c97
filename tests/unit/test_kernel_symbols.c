/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/live/kernel/kernel_symbols.h"

#define ADDR 0xffffffff81001012

static void what_the_kernel_says(void **state)
{
	struct kernel_symbol_text symbol;

	(void)state;
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

static void what_is_no_symbol(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(kernel_symbol_parse(&symbol, ADDR, texts[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_says),
		cmocka_unit_test(what_is_no_symbol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
