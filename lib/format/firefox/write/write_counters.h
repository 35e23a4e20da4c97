/* SPDX-License-Identifier: MIT */
/*
 * Counters with the rows that show them: each process's with its own, and of those that share a
 * row, the sum of all. In the order of announcement; the machine's come last.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_WRITE_COUNTERS_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_WRITE_COUNTERS_H

#include "lib/format/firefox/write/firefox_rows.h"

struct row_counter {
	size_t row; /* in the list of rows */
	struct counter counter; /* its samples belong to the profile, or to the list below */
	uint64_t end; /* of what it counts: the process, or the recording */
	size_t number; /* of the counter, or of the first one that it sums up */
	bool is_machine, is_sum;
};

struct row_counters {
	VEC(struct row_counter) list;
};

/* Zeroed is empty. Counters without values, or of processes without a row, are left out. */
void row_counters_find(struct row_counters *c, const struct firefox_rows *rows);
void row_counters_release(struct row_counters *c);

#endif
