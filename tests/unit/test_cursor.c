/* SPDX-License-Identifier: MIT */

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/json/cursor.h"
#include "tests/unit/test.h"

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

TEST(values_are_told_from_rubbish)
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

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		if (!is_json(good[i]))
			fail_msg("refused: %s", good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (is_json(bad[i]))
			fail_msg("taken: %s", bad[i]);
	}
}

TEST(depth_has_a_limit)
{
	char text[2 * JSON_CURSOR_DEPTH_MAX + 3] = "";

	memset(text, '[', JSON_CURSOR_DEPTH_MAX);
	memset(text + JSON_CURSOR_DEPTH_MAX, ']', JSON_CURSOR_DEPTH_MAX);
	assert_true(is_json(text));
	memset(text, '[', JSON_CURSOR_DEPTH_MAX + 1);
	memset(text + JSON_CURSOR_DEPTH_MAX + 1, ']', JSON_CURSOR_DEPTH_MAX + 1);
	assert_false(is_json(text));
}

TEST(integers_fit_or_fail)
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

TEST(strings_are_decoded)
{
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

TEST(members_are_walked)
{
	struct json_cursor s = over("{\"a\": [1, null], \"skipped\": {\"a\": 2}, \"b\":3} x"), copy;
	int64_t a = 0, b = 0;
	bool was_null = false;
	struct span value;

	json_for_each_member(&s, key) {
		if (span_is(&s, key, "a")) {
			json_for_each_element(&s, i) {
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
		}
	}
	assert_int_equal(a, 1);
	assert_true(was_null);
	assert_int_equal(b, 3);
	assert_int_equal(json_cursor_peek(&s), 'x');
	assert_false(json_cursor_end(&s));
}

TEST(other_values_are_skipped)
{
	struct json_cursor s = over(" [ 7 , [ ] ,\n{ \"a\" : \t[1, \",\"] } , {\"b\" :2}, 5 ]");
	int64_t sum = 0, number = 0;
	size_t count = 0;

	json_for_each_element(&s, i) {
		json_for_each_member_if_any(&s, key) {
			if (span_is(&s, key, "b"))
				json_cursor_i64(&s, &sum);
		}
		if (i == 4 && json_cursor_i64(&s, &number))
			sum += number;
		count++;
	}
	assert_true(json_cursor_end(&s));
	assert_int_equal(count, 5);
	assert_int_equal(sum, 7);
	s = over("[1, x, 2]");
	json_for_each_element(&s, i)
		assert_true(i < 2);
	assert_true(s.failed);
}
