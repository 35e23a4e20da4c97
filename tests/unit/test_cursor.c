/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/json/cursor.h"

static struct json_cursor over(const char *text)
{
	struct json_cursor s;

	json_cursor_init(&s, text, strlen(text));
	return s;
}

static bool is_json(const char *text)
{
	struct json_cursor s = over(text);

	json_cursor_skip(&s);
	return json_cursor_end(&s);
}

static void values_are_told_from_rubbish(void **state)
{
	static const char *const good[] = {
		"{}",	    " [ ] ", "[1,2]",	"{\"a\":1,\"b\":[{}]}",
		"\"\\\"\"", "-0",    "0.5e+10", "1E5",
		"true",	    "false", "null",	"\t\r\n0 ",
		"[[[]]]",
	};
	static const char *const bad[] = {
		"",	    "{",     "[",   "[1,]",   "[,1]",  "{,}",	     "{\"a\"}",
		"{\"a\":}", "{1:2}", "\"",  "\"\\\"", "01",    "-",	     "1.",
		"1e",	    ".5",    "nul", "truee",  "[1 2]", "{}{}",	     "1,",
		"\"\n\"",   "]",     "[}",  "+1",     "NaN",   "{\"a\":1,}", "'a'",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		if (!is_json(good[i]))
			fail_msg("refused: %s", good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (is_json(bad[i]))
			fail_msg("taken: %s", bad[i]);
	}
}

static void depth_has_a_limit(void **state)
{
	char text[2 * JSON_CURSOR_DEPTH_MAX + 3] = "";

	(void)state;
	memset(text, '[', JSON_CURSOR_DEPTH_MAX);
	memset(text + JSON_CURSOR_DEPTH_MAX, ']', JSON_CURSOR_DEPTH_MAX);
	assert_true(is_json(text));
	memset(text, '[', JSON_CURSOR_DEPTH_MAX + 1);
	memset(text + JSON_CURSOR_DEPTH_MAX + 1, ']', JSON_CURSOR_DEPTH_MAX + 1);
	assert_false(is_json(text));
}

static void integers_fit_or_fail(void **state)
{
	static const struct {
		const char *text;
		bool is_good;
		int64_t value;
	} cases[] = {
		{"0", true, 0},
		{" -17", true, -17},
		{"9223372036854775807", true, INT64_MAX},
		{"-9223372036854775808", true, INT64_MIN},
		{"9223372036854775808", false, 0},
		{"1.0", false, 0},
		{"1e2", false, 0},
		{"\"1\"", false, 0},
		{"null", false, 0},
		{"", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct json_cursor s = over(cases[i].text);
		int64_t value = 0;

		assert_int_equal(json_cursor_i64(&s, &value), cases[i].is_good);
		assert_int_equal(s.failed, !cases[i].is_good);
		if (cases[i].is_good)
			assert_int_equal(value, cases[i].value);
	}
}

static void check_string(const char *text, const char *wanted)
{
	_cleanup_(strbuf_release) struct strbuf got = {0};
	struct json_cursor s = over(text);
	bool is_string = json_cursor_string(&s, &got);

	assert_int_equal(is_string, wanted != NULL);
	if (wanted)
		assert_string_equal(strbuf_text(&got), wanted);
}

static void strings_are_decoded(void **state)
{
	(void)state;
	check_string("\"plain ü\"", "plain ü");
	check_string("\"\"", "");
	check_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
	check_string("\"a\\u0041\\u00fc\\u20AC\"", "aAü€");
	check_string("\"\\ud83d\\ude00!\"", "😀!");
	check_string("\"\\ud83dx\\ude00\"", "\xef\xbf\xbdx\xef\xbf\xbd");
	check_string("\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
					   "A");
	check_string("\"\\q\"", NULL);
	check_string("\"\\u12\"", NULL);
	check_string("\"\\u12g4\"", NULL);
	check_string("\"\\ud83d\\u\"", NULL);
	check_string("7", NULL);
}

static void members_are_walked(void **state)
{
	struct json_cursor s = over("{\"a\": [1, null], \"skipped\": {\"a\": 2}, \"b\":3} x"), copy;
	struct json_cursor_list list = {0}, inner = {0};
	int64_t a = 0, b = 0;
	bool was_null = false;
	struct span key, value;

	(void)state;
	while (json_cursor_member(&s, &list, &key)) {
		if (span_is(&s, key, "a")) {
			while (json_cursor_element(&s, &inner)) {
				if (json_cursor_null(&s))
					was_null = true;
				else
					json_cursor_i64(&s, &a);
			}
		} else if (span_is(&s, key, "b")) {
			json_cursor_value(&s, &value);
			copy = json_cursor_within(&s, value);
			json_cursor_i64(&copy, &b);
			assert_true(json_cursor_end(&copy));
		} else {
			json_cursor_skip(&s);
		}
	}
	assert_int_equal(a, 1);
	assert_true(was_null);
	assert_int_equal(b, 3);
	assert_int_equal(json_cursor_peek(&s), 'x');
	assert_false(json_cursor_end(&s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_told_from_rubbish),
		cmocka_unit_test(depth_has_a_limit),
		cmocka_unit_test(integers_fit_or_fail),
		cmocka_unit_test(strings_are_decoded),
		cmocka_unit_test(members_are_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
