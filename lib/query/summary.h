/* SPDX-License-Identifier: MIT */
/* Summarizes a selection in one line: duration, samples, losses, share with names. */
#pragma once

#include "lib/query/select.h"

struct query_summary {
	double seconds;
	bool has_lost, has_whole, has_guessed;
	uint64_t lost; /* lost samples, as recorded */
	double whole, guessed; /* recorded shares of stacks */
	double named; /* share of the selection whose innermost function has a name */
};

struct query_summary query_summarize(const struct query *q);
/* Returns the duration of waits of this kind, in seconds. */
double query_wait_seconds(const struct query *q, int wait);
/* Appends the line without a newline; safe to print. */
void query_summary_text(const struct query *q, struct strbuf *out);
/* Appends the same without the times that threads ran and waited. */
void query_summary_samples(const struct query *q, struct strbuf *out);

/* Minimum share of guessed stacks to report. */
#define GUESSES_SHOWN 0.01
/*
 * Appends ", 3.2 % with guessed frames: callers of libx.so", as recorded. Appends nothing below
 * GUESSES_SHOWN, or if the recorder did not count them.
 */
void query_guesses_text(const struct profile *p, struct strbuf *out);

/* Suggests names when a filter selects nothing. */

/*
 * Adds a hint to an error: the heaviest threads or processes that match the filter's other
 * conditions. Does nothing without a condition on thread or process.
 */
void heaviest_names_hint(struct error *err, const struct profile *p,
			 const struct query_filter *filter);
