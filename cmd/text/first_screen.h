/* SPDX-License-Identifier: MIT */
/*
 * Short answers at the top of a report: the times, the hot path, where code ran and where it
 * waited.
 */
#pragma once

#include "cmd/options/report_options.h"

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
