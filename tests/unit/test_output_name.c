/* SPDX-License-Identifier: MIT */
/* Names of outputs with parts that are known only when they are written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/option_value.h"
#include "lib/recording/output_name.h"
#include "tests/unit/test.h"

static const struct output_words words = {
	.pid = 42,
	.command = "../make",
	.realtime_ns = 1795521600000000000ull, /* 2026-11-24 12:00 UTC */
};

static void expect(const char *pattern, const char *wanted)
{
	struct error err = {0};
	char *name = output_name_expand(pattern, &words, &err);

	assert_non_null(name);
	assert_string_equal(name, wanted);
	free(name);
}

TEST(each_letter_has_a_meaning)
{
	char host[256] = "", wanted[300];

	setenv("TZ", "UTC", 1);
	gethostname(host, sizeof(host) - 1);
	snprintf(wanted, sizeof(wanted), "at %s", host);
	expect("plain.json.gz", "plain.json.gz");
	expect("%p.json", "42.json");
	/* A name never leads to another folder. */
	expect("out/%c.json", "out/.._make.json");
	expect("%t", "20261124-120000");
	expect("at %h", wanted);
	expect("100%%", "100%");
}

TEST(other_letters_are_refused)
{
	static const char *const wrong[] = {"%", "a%", "%x", "%%%", "%P"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct error err = {0};

		assert_null(output_name_expand(wrong[i], &words, &err));
		assert_int_equal(err.code, -EINVAL);
	}
}

TEST(numbers_pass_over_what_is_there)
{
	char folder[] = "/tmp/prof-unit.XXXXXX", path[64];

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	expect("%n.json", "1.json");
	close(open("1.json", O_CREAT | O_WRONLY, 0600));
	/* A link counts, wherever it leads. */
	assert_int_equal(symlink("nowhere", "2.json"), 0);
	expect("%n.json", "3.json");
	expect("%n-%n.json", "1-1.json");
	unlink("1.json");
	unlink("2.json");
	assert_int_equal(chdir("/"), 0);
	snprintf(path, sizeof(path), "%s", folder);
	assert_int_equal(rmdir(path), 0);
}

TEST(times_may_have_units)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} times[] = {
		{"2", 2000000000}, {"0.5", 500000000},	  {"2s", 2000000000},	 {"5ms", 5000000},
		{"3us", 3000},	   {"1.5m", 90000000000}, {"1h", 3600000000000},
	};
	static const char *const wrong[] = {"",	   "s",	   "5d",   "5 s",    "-1s",
					    "0ms", "1e3s", "5mss", "999999h"};
	struct error err = {0};
	uint64_t ns;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		assert_int_equal(option_parse_time("-d", times[i].text, 1e9, &ns, &err), 0);
		assert_int_equal(ns, times[i].ns);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(option_parse_time("-d", wrong[i], 1e9, &ns, &err), -EINVAL);
}
