/* SPDX-License-Identifier: MIT */
/* A selection in one line: how long, how many samples, what was lost, how much has names. */
#ifndef PROF_LIB_QUERY_SUMMARY_H
#define PROF_LIB_QUERY_SUMMARY_H

#include "lib/query/select.h"

struct query_summary {
	double seconds;
	bool has_lost, has_whole;
	uint64_t lost; /* samples, as the recording says */
	double whole; /* share of stacks, likewise */
	double named; /* share of what is selected whose innermost function has a name */
};

struct query_summary query_summarize(const struct query *q);
/* Returns the time that waits of this kind took, seconds. */
double query_wait_seconds(const struct query *q, int wait);
/* Appends the line, without its end; safe to print. */
void query_summary_text(const struct query *q, struct strbuf *out);

#endif
