/* SPDX-License-Identifier: MIT */
/* Typing mistakes, and messages that suggest what was meant. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/options/option_table.h"
#include "tests/unit/test.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

TEST(distances_are_counted_in_mistakes)
{
	char text[64];

	assert_int_equal(near_miss_distance("", ""), 0);
	assert_int_equal(near_miss_distance("record", "record"), 0);
	assert_int_equal(near_miss_distance("recrod", "record"), 1);
	assert_int_equal(near_miss_distance("recor", "record"), 1);
	assert_int_equal(near_miss_distance("recordd", "record"), 1);
	assert_int_equal(near_miss_distance("rekord", "record"), 1);
	assert_int_equal(near_miss_distance("", "abc"), 3);
	assert_int_equal(near_miss_distance("kitten", "sitting"), 3);
	memset(text, 'a', 32);
	text[32] = '\0';
	assert_int_equal(near_miss_distance(text, "a"), 31);
	text[32] = 'a';
	text[33] = '\0';
	assert_true(near_miss_distance(text, "a") == SIZE_MAX);
	assert_true(near_miss_distance("a", text) == SIZE_MAX);
}

TEST(only_the_nearest_is_meant)
{
	static const char *const names[] = {"help", "record", "attach", "check", "symbolize"};
	static const char *const alike[] = {"abcdex", "abcdey", "abcdez"};

	assert_string_equal(near_miss("recrod", names, COUNT(names)), "record");
	assert_string_equal(near_miss("chekc", names, COUNT(names)), "check");
	assert_string_equal(near_miss("symbolise", names, COUNT(names)), "symbolize");
	assert_null(near_miss("stat", names, COUNT(names)));
	assert_null(near_miss("", names, COUNT(names)));
	assert_null(near_miss("x", names, COUNT(names)));
	assert_string_equal(near_miss("abcde", alike, COUNT(alike)), "abcdex");
	assert_string_equal(near_miss("abcdey", alike, COUNT(alike)), "abcdey");
}

static void expect_command(const char *word, const char *text)
{
	static const char *const names[] = {"record", "attach"};
	struct error err = {0};

	hint_unknown_command(&err, word, names, COUNT(names));
	assert_string_equal(err.text, text);
}

TEST(commands_that_are_none_have_hints)
{
	setenv("PATH", "/nowhere::/bin", 1);
	expect_command("atach", "unknown command 'atach': did you mean 'attach'?");
	expect_command("stat", "unknown command 'stat': to sample an event, run: "
			       "prof record -e EVENT -- COMMAND");
	expect_command("sh", "unknown command 'sh': to record it, run: prof record -- sh");
	expect_command("/bin/sh", "unknown command '/bin/sh': to record it, run: "
				  "prof record -- /bin/sh");
	expect_command("gibberish", "unknown command 'gibberish'");
	expect_command("\xe2\x80\xaex\x9b", "unknown command '?x?'");
	expect_command("", "unknown command ''");
	unsetenv("PATH");
	expect_command("sh", "unknown command 'sh': to record it, run: prof record -- sh");
}

static void expect_option(int letter, const char *word, const struct option *longs,
			  const char *text)
{
	struct error err = {0};

	hint_unknown_option(&err, letter, word, longs);
	assert_string_equal(err.text, text);
}

TEST(options_that_are_none_have_hints)
{
	static const struct option recording[] = {
		{"output", required_argument, NULL, 'o'},
		{"unwind", required_argument, NULL, 1},
		{"unwind-memory", required_argument, NULL, 2},
		{0},
	};
	static const struct option other[] = {{"json", no_argument, NULL, 1}, {0}};

	expect_option(0, "--ouput", recording, "unknown option --ouput: did you mean --output?");
	expect_option(0, "--ouput=x", recording, "unknown option --ouput: did you mean --output?");
	expect_option(0, "--unw", recording, "--unw is ambiguous: --unwind, --unwind-memory");
	expect_option('g', "", recording,
		      "unknown option -g: stacks are always recorded; --unwind chooses how");
	expect_option(
		0, "--call-graph=dwarf", recording,
		"unknown option --call-graph: stacks are always recorded; --unwind chooses how");
	expect_option('g', "", other, "unknown option -g");
	expect_option(0, "--call-graph", other, "unknown option --call-graph");
	expect_option('z', "", recording, "unknown option -z");
}
