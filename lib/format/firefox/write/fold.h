/* SPDX-License-Identifier: MIT */
/*
 * Fewer rows where a recording has more threads than a front-end can hold: those that came and went
 * during the recording share one for each program ("cc1 × 312, short-lived").
 *
 * These keep a row of their own: threads that were there when recording began or ended, the main
 * thread of the root process, the busiest of all others up to the limit, and the main thread of
 * each process that has another one with a row.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_FOLD_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_FOLD_H

#include "lib/format/firefox/write/firefox_rows.h"

struct fold_counts {
	size_t threads; /* that have no row of their own any more */
	size_t rows; /* that they have together */
};

/* Beyond `max` rows, which are those of threads and sorted; they are sorted again. */
struct fold_counts fold_rows(struct firefox_rows *r, struct file_strings *strings, size_t max);

#endif
