/* SPDX-License-Identifier: MIT */

#include "lib/recording/recording_facts.h"
#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

TEST(what_is_printed_is_parsed)
{
	const struct run_fact run = {
		.pid = 1,
		.iteration = 2,
		.variant = "with blanks in it",
		.variant_number = 3,
		.status = 4,
		.looks = 5,
		.seed = 6,
		.start_ns = 7,
		.end_ns = UINT64_MAX,
		.cpu_ns = 9,
	};
	_cleanup_(strbuf_release) struct strbuf text = {0}, again = {0};
	struct run_fact read;

	run_fact_print(&run, &text);
	assert_string_equal(strbuf_text(&text),
			    "1 2 3 4 5 6 7 18446744073709551615 9 with blanks in it");
	assert_true(run_fact_parse(&read, strbuf_text(&text)));
	assert_string_equal(read.variant, run.variant);
	run_fact_print(&read, &again);
	assert_string_equal(strbuf_text(&again), strbuf_text(&text));
}

TEST(without_variants_there_is_none)
{
	struct run_fact read;

	assert_true(run_fact_parse(&read, "1 2 3 4 5 6 7 8 9"));
	assert_null(read.variant);
	assert_true(run_fact_parse(&read, "1 2 3 4 5 6 7 8 9 "));
	assert_null(read.variant);
}

TEST(damage_is_refused)
{
	static const char *const damaged[] = {
		"",
		" ",
		"1 2 3",
		"1 2 3 4 5 6 8 7 9",
		"1 2 3 4 5 6 7 8 x",
		"1  2 3 4 5 6 7 8 9",
		"1 2 3 4 5 6 7 8 99999999999999999999999999",
	};
	struct run_fact read;

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
		assert_false(run_fact_parse(&read, damaged[i]));
}
