/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/live/kernel/kernel_symbols.h"

#define ADDR 0xffffffff81001012

static void symbols_become_lines(void **state)
{
	struct strbuf list = {0};

	(void)state;
	assert_int_equal(kernel_symbols_add(&list, ADDR, "do_syscall_64+0x12/0x20"),
			 0xffffffff81001020);
	assert_int_equal(kernel_symbols_add(&list, ADDR, "ext4_read+0x2/0x3 [ext4]"),
			 0xffffffff81001013);
	assert_string_equal(list.text, "ffffffff81001000 t do_syscall_64\n"
				       "ffffffff81001020 d end\n"
				       "ffffffff81001010 t ext4_read\t[ext4]\n"
				       "ffffffff81001013 d end\n");
	strbuf_release(&list);
}

static void what_is_no_symbol_adds_nothing(void **state)
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
	struct strbuf list = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(kernel_symbols_add(&list, ADDR, texts[i]), 0);
	assert_int_equal(list.size, 0);
	strbuf_release(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_become_lines),
		cmocka_unit_test(what_is_no_symbol_adds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
