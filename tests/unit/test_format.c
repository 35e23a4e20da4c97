/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"

static void found_by_name(void **state)
{
	_cleanup_(strbuf_release) struct strbuf names = {0};

	(void)state;
	assert_ptr_equal(format_find("firefox"), &format_firefox);
	assert_null(format_find("Firefox"));
	assert_null(format_find(""));
	format_list(&names);
	assert_int_equal(strncmp(strbuf_text(&names), "firefox", strlen("firefox")), 0);
}

static void found_by_suffix(void **state)
{
	(void)state;
	assert_ptr_equal(format_of_path("a.json"), &format_firefox);
	assert_ptr_equal(format_of_path("/x/a.json.gz"), &format_firefox);
	assert_null(format_of_path("a.gz"));
	assert_null(format_of_path(".gz"));
	assert_null(format_of_path("json"));
	assert_null(format_of_path("a.json.other"));
	assert_null(format_of_path(""));
}

static void found_by_content(void **state)
{
	(void)state;
	assert_ptr_equal(format_of_text("{}", 2), &format_firefox);
	assert_ptr_equal(format_of_text(" \n{", 3), &format_firefox);
	assert_null(format_of_text(" \n{", 2));
	assert_null(format_of_text("[]", 2));
	assert_null(format_of_text("", 0));
	assert_null(format_of_text("\0{", 2));
}

static void plain_by_suffix(void **state)
{
	static const char *const suffixes[] = {".txt", NULL};
	const struct format text = {.name = "text", .suffixes = suffixes, .is_plain = true};

	(void)state;
	assert_false(format_is_compressed(&format_firefox, "a.json"));
	assert_true(format_is_compressed(&format_firefox, "a.json.gz"));
	assert_true(format_is_compressed(&format_firefox, "a"));
	assert_true(format_is_compressed(&format_firefox, "a.json.other"));
	assert_true(format_is_compressed(&format_firefox, "-"));
	assert_false(format_is_compressed(&text, "a.txt"));
	assert_true(format_is_compressed(&text, "a.txt.gz"));
	assert_false(format_is_compressed(&text, "a"));
	assert_false(format_is_compressed(&text, "-"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_by_name),
		cmocka_unit_test(found_by_suffix),
		cmocka_unit_test(found_by_content),
		cmocka_unit_test(plain_by_suffix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
