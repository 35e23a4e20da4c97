/* SPDX-License-Identifier: MIT */
/* Command lines are split as by a shell, with nothing else of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"

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

static void blanks_separate(void **state)
{
	(void)state;
	assert_words("a", "a");
	assert_words("  ./a -b\t--c=d\n e ", "./a|-b|--c=d|e");
	assert_words("", "none");
	assert_words(" \t", "none");
}

static void quotes_keep_blanks(void **state)
{
	(void)state;
	assert_words("'a b' c", "a b|c");
	assert_words("a'b 'c\"d e\"", "ab cd e");
	assert_words("'a\\b' \"c\\\\d\\e\\\"\"", "a\\b|c\\d\\e\"");
	assert_words("'' a", "|a");
	assert_words("a\\ b \\'", "a b|'");
}

static void nothing_is_expanded(void **state)
{
	(void)state;
	assert_words("$HOME *.c a;b `c` > d", "$HOME|*.c|a;b|`c`|>|d");
}

static void what_has_no_end_is_refused(void **state)
{
	(void)state;
	assert_words("a 'b", "none");
	assert_words("a \"b\\\"", "none");
	assert_words("a \\", "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blanks_separate),
		cmocka_unit_test(quotes_keep_blanks),
		cmocka_unit_test(nothing_is_expanded),
		cmocka_unit_test(what_has_no_end_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
