/* SPDX-License-Identifier: MIT */
/* Reports on unwinding: shares, without lines that are zero. */
#include <string.h>

#include "cmd/text/record_summary.h"
#include "lib/recording/outcome_facts.h"
#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

static void expect_line(enum recorder_unwind method, const struct profile_stats *stats,
			const char *text)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	unwinding_describe(method, stats, &line);
	assert_string_equal(strbuf_text(&line), text);
}

TEST(zeros_are_not_reported)
{
	struct profile_stats stats = {0};

	expect_line(RECORDER_UNWIND_AUTO, &stats, "");
	stats.kernel_only = 7;
	expect_line(RECORDER_UNWIND_AUTO, &stats, "7 kernel-only");
	stats.whole = 1000;
	expect_line(RECORDER_UNWIND_AUTO, &stats, "100.0 % whole; 7 kernel-only");
	stats.guessed = 12;
	expect_line(RECORDER_UNWIND_CFI, &stats,
		    "100.0 % whole (1.2 % with guesses); 7 kernel-only");
	stats.finished_later = 500;
	stats.exiting = 3;
	expect_line(RECORDER_UNWIND_AUTO, &stats,
		    "100.0 % whole (50.0 % finished later, 1.2 % with guesses); 7 kernel-only, "
		    "3 exiting");
	stats.unknown_kinds = 1;
	expect_line(RECORDER_UNWIND_CFI, &stats,
		    "100.0 % whole (50.0 % finished later, 1.2 % with guesses, "
		    "0.1 % without frames of unknown kinds); 7 kernel-only, 3 exiting");
	stats = (struct profile_stats){
		.whole = 500, .truncated = 200, .broken = 100, .unknown = 200, .exiting = 1};
	expect_line(RECORDER_UNWIND_AUTO, &stats,
		    "50.0 % whole, 20.0 % truncated, 10.0 % broken, 20.0 % unknown; 1 exiting");
	stats = (struct profile_stats){
		.whole = 900, .unknown = 100, .finished_later = 900, .compat = 1000};
	expect_line(RECORDER_UNWIND_AUTO, &stats,
		    "90.0 % whole (90.0 % finished later), 10.0 % unknown");
	stats.compat_unknown = 99;
	expect_line(RECORDER_UNWIND_AUTO, &stats,
		    "90.0 % whole (90.0 % finished later), 10.0 % unknown; 99 of 32-bit programs: "
		    "leaf only");
	/* The kernel follows the program's frame pointers, too. */
	expect_line(RECORDER_UNWIND_FP, &stats, "by frame pointers");
}

TEST(all_means_all_and_something_is_more_than_nothing)
{
	const struct profile_stats nearly = {.whole = 99999, .broken = 1};
	const struct profile_stats none = {.unknown = 9};

	expect_line(RECORDER_UNWIND_AUTO, &nearly, "99.9 % whole, 0.1 % broken");
	expect_line(RECORDER_UNWIND_AUTO, &none, "0.0 % whole, 100.0 % unknown");
}

TEST(what_cannot_be_whole_is_not_counted_in)
{
	const struct profile_stats stats = {
		.whole = 10, .kernel_only = 1000, .exiting = 1000, .lost = {1000, 1000}};

	assert_int_equal(outcome_stacks(&stats), 10);
	expect_line(RECORDER_UNWIND_AUTO, &stats, "100.0 % whole; 1000 kernel-only, 1000 exiting");
}

TEST(methods_that_do_not_know_claim_nothing)
{
	struct profile_stats stats = {.unknown = 100, .kernel_only = 1};

	expect_line(RECORDER_UNWIND_FP, &stats, "by frame pointers; 1 kernel-only");
	expect_line(RECORDER_UNWIND_NONE, &stats, "1 kernel-only");
	stats.kernel_only = 0;
	stats.truncated = 100;
	expect_line(RECORDER_UNWIND_FP, &stats, "by frame pointers, 50.0 % truncated");
	expect_line(RECORDER_UNWIND_NONE, &stats, "");
}

/* Returns the value under a label of the info panel, or NULL. */
static const char *extra(const struct profile *p, const char *label, const char *format)
{
	const char *value = NULL;

	vec_for_each(&p->meta.extra, const struct profile_extra *, row) {
		assert_string_equal(row->section, "Unwinding");
		if (strcmp(row->label, label) != 0)
			continue;
		assert_null(value);
		assert_string_equal(row->format, format);
		value = row->value;
	}
	return value;
}

static void add_rows(struct profile *p, enum recorder_unwind method)
{
	const struct recorder_info info = {0};
	struct facts facts = {0};

	outcome_facts_add_end(&facts, p, method, &info);
	profile_add_facts(p, &facts, FACT_SECTION_UNWINDING, FACT_SECTION_TABLES);
	facts_release(&facts);
}

TEST(the_panel_says_the_same)
{
	struct profile *p = profile_new();

	p->stats = (struct profile_stats){
		.whole = 6, .truncated = 1, .broken = 1, .kernel_only = 4, .exiting = 3};
	add_rows(p, RECORDER_UNWIND_CFI);
	assert_int_equal(strncmp(extra(p, "Method", "string"), "cfi: ", 5), 0);
	assert_string_equal(extra(p, "Whole stacks", "percentage"), "0.750000");
	assert_string_equal(extra(p, "Truncated stacks", "percentage"), "0.125000");
	assert_string_equal(extra(p, "Broken stacks", "percentage"), "0.125000");
	assert_string_equal(extra(p, "Unknown stacks", "percentage"), "0.000000");
	assert_string_equal(extra(p, "Samples of kernel threads", "integer"), "4");
	assert_string_equal(extra(p, "Samples of exiting threads", "integer"), "3");
	profile_free(p);
}

TEST(no_share_of_nothing)
{
	struct profile *p = profile_new();

	add_rows(p, RECORDER_UNWIND_AUTO);
	assert_int_equal(strncmp(extra(p, "Method", "string"), "auto: ", 6), 0);
	assert_null(extra(p, "Whole stacks", "percentage"));
	profile_free(p);

	p = profile_new();
	p->stats.unknown = 4;
	add_rows(p, RECORDER_UNWIND_FP);
	assert_null(extra(p, "Whole stacks", "percentage"));
	assert_null(extra(p, "Tables", "integer"));
	assert_string_equal(extra(p, "Truncated stacks", "percentage"), "0.000000");
	profile_free(p);
}
