/* SPDX-License-Identifier: MIT */
/* Summarizes a profile and its reliability in a few figures. */
#pragma once

#include "cmd/options/report_options.h"
#include "lib/format/format.h"
#include "lib/model/meaning/thread_times.h"
#include "lib/model/tables/profile.h"
#include "lib/query/select.h"
#include "lib/query/summary.h"

/* Prints the first screen of prof report to stderr, at the end of a recording. */
void heaviest_print(const struct profile *p);

/* Prints one line, safe to print; a second one if parts of the file were not read. */
void profile_summary_text(const struct query *q, const struct import_counts *counts,
			  struct strbuf *out);
/* Prints one line, "not read: 2 markers, …"; nothing if everything was read. */
void profile_summary_unread(const struct import_counts *counts, struct strbuf *out);
/* Prints the first line without running and waiting times. */
void profile_summary_samples(const struct query *q, const struct import_counts *counts,
			     size_t width, struct strbuf *out);
/* Prints a JSON object, with null for values missing in the profile. */
void profile_summary_json(const struct query *q, const struct import_counts *counts,
			  struct strbuf *out);

/* Describes how long threads ran and waited. */

/* Appends "0.24", a time with two significant digits, but at least one decimal place. */
void wait_text_add_seconds(struct strbuf *out, double value);
/*
 * Appends "ran 2.1 s, blocked 3.4 s (disk 2.9), waited for a CPU 0.2 s, added up over 12 threads";
 * nothing without waits. Wait times are weights times interval_ns.
 */
void wait_text_describe(const struct wait_sums *sums, uint64_t ran_ns, uint64_t interval_ns,
			uint64_t threads, struct strbuf *out);
/* Returns the name of a kind of waits in lower case, "lock"; the caller frees. Safe to print. */
char *wait_text_kind(const struct profile *p, struct frame_category category);
/*
 * Appends ", blocked 1.200 s (lock 1.1), waited for a CPU 0.100 s, idle 3.000 s" without what is 0,
 * and the kinds if waits are selected. `is_of_helpers`: the blocked threads run no code of the
 * user.
 */
void wait_text_add_query(const struct query *q, bool is_of_helpers, struct strbuf *out);

/* The critical path of a profile in two lines. */

/*
 * Appends "critical path: 1.43 s: cc1 77.0 %, waited for a CPU 4.1 %" to `first`, and the user's
 * functions with the most time on it to `second`, which may stay empty. False: there is no path.
 */
bool path_summary_text(const struct profile *p, struct strbuf *first, struct strbuf *second);
/*
 * Appends lines on parallelism, and on changes that would shorten the command. Appends nothing if
 * the recording is too large for predictions.
 */
void path_summary_forecasts(const struct profile *p, struct strbuf *out);
/* Appends the times of the path's kinds of parts, and predictions, as a JSON object. */
void path_summary_json(const struct profile *p, struct strbuf *out);

/*
 * Short answers at the top of a report: the times, the hot path, where code ran and where it
 * waited.
 */

struct first_screen_options {
	const struct query_filter *filter; /* the query's filter */
	enum query_order order; /* order of functions */
	struct query_listing_options listing; /* its limit applies to functions */
	/* Omit functions whose weight is within its sampling error, and those after 40 lines. */
	bool leaves_noise_out;
	bool is_markdown;
	size_t width; /* columns of text; 0: unlimited */
};

/* True if there is anything to answer: time in which threads ran, were blocked or idled. */
bool first_screen_has_rows(const struct query *q);
/* Appends the answers. The query must have rows. */
void first_screen(const struct query *q, const struct first_screen_options *options,
		  struct strbuf *out);
/* Appends all advice, the hot path and the first waits as members of a JSON object. */
void first_screen_json(const struct query *q, const struct query_filter *filter,
		       struct strbuf *out);
/*
 * Appends the hottest function and the first place that was blocked, "hottest: sixty (shares),
 * 61.0 %; blocked in read_all: 2.1 s (disk)"; nothing without samples.
 */
void first_screen_line(const struct profile *p, struct strbuf *out);
