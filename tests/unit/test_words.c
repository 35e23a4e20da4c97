/* SPDX-License-Identifier: MIT */
/* Command lines are split as by a shell, with nothing else of one. */
#include <string.h>

#include "lib/base/base.h"
#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

/* Joins the words with '|'; "none" if there are none. */
static void assert_words(const char *text, const char *wanted)
{
	_cleanup_(strbuf_release) struct strbuf joined = {0};
	char **words = words_split(text);

	for (char **word = words; word && *word; word++)
		strbuf_addf(&joined, "%s%s", word == words ? "" : "|", *word);
	assert_string_equal(words ? strbuf_text(&joined) : "none", wanted);
	words_free(words);
}

TEST(blanks_separate)
{
	assert_words("a", "a");
	assert_words("  ./a -b\t--c=d\n e ", "./a|-b|--c=d|e");
	assert_words("", "none");
	assert_words(" \t", "none");
}

TEST(quotes_keep_blanks)
{
	assert_words("'a b' c", "a b|c");
	assert_words("a'b 'c\"d e\"", "ab cd e");
	assert_words("'a\\b' \"c\\\\d\\e\\\"\"", "a\\b|c\\d\\e\"");
	assert_words("'' a", "|a");
	assert_words("a\\ b \\'", "a b|'");
}

TEST(nothing_is_expanded)
{
	assert_words("$HOME *.c a;b `c` > d", "$HOME|*.c|a;b|`c`|>|d");
}

TEST(what_has_no_end_is_refused)
{
	assert_words("a 'b", "none");
	assert_words("a \"b\\\"", "none");
	assert_words("a \\", "none");
}
