/* SPDX-License-Identifier: MIT */
/* Checks the words for how long threads ran and waited. */

#include "cmd/text/profile_summary.h"
#include "tests/unit/test.h"

#define INTERVAL_NS 1000000ull

static void assert_text(const struct wait_sums *sums, uint64_t threads, const char *wanted)
{
	struct strbuf text = {0};

	wait_text_describe(sums, 2100000000, INTERVAL_NS, threads, &text);
	assert_string_equal(strbuf_text(&text), wanted);
	strbuf_release(&text);
}

TEST(without_waits_there_is_no_text)
{
	const struct wait_sums none = {0};

	assert_text(&none, 12, "");
}

TEST(sums_name_the_number_of_threads)
{
	struct wait_sums sums = {.rows = 9, .blocked = 3400, .runnable = 200};

	sums.blocked_by[IDLE_DISK] = 2900;
	assert_text(&sums, 1, "ran 2.1 s, blocked 3.4 s (disk 2.9), waited for a CPU 0.20 s");
	sums.idle = 1000;
	assert_text(&sums, 1200,
		    "ran 2.1 s, blocked 3.4 s (disk 2.9), idle 1.0 s, waited for a CPU 0.20 s, "
		    "added up over 1,200 threads");
}
