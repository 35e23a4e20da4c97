/* SPDX-License-Identifier: MIT */
/* Regular expressions that mean the same in every C library, and those that do not. */
#include <errno.h>

#include "lib/query/pattern.h"
#include "tests/unit/test.h"

static int compile(const char *expression)
{
	struct error err = {0};
	regex_t regex;
	int ret = pattern_compile(&regex, "focus", expression, &err);

	if (!ret)
		regfree(&regex);
	else
		assert_int_equal(!*err.text, 0);
	return ret;
}

TEST(test_good)
{
	static const char *const expressions[] = {
		"^main$", "a{0,2}b", "a{2,}",	 "\\<main\\>",	 "\\w+::\\S*", "[\\d]",
		"[]\\d]", "[^]\\d]", "a\\.b\\(", "[[:digit:]]+", "[a[]x",
	};

	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++)
		assert_int_equal(compile(expressions[i]), 0);
}

TEST(test_foreign)
{
	static const char *const expressions[] = {
		"a{,2}b", "\\d", "\\x5f", "(a)\\1", "\\`a", "[a]\\d", "[a[]\\d", "(", "a{",
	};

	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++)
		assert_int_equal(compile(expressions[i]), -EINVAL);
}
