/* SPDX-License-Identifier: MIT */
/*
 * Reduces rows if a recording has more threads than a front-end can hold: threads that began and
 * ended during the recording share one row per program ("cc1 × 312, short-lived").
 *
 * These keep a row of their own: threads that existed when recording began or ended, the main
 * thread of the root process, the busiest others up to the limit, and the main thread of each
 * process that has another thread with a row.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_FOLD_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_FOLD_H

#include "lib/format/firefox/write/firefox_rows.h"

struct fold_counts {
	size_t threads; /* threads without a row of their own */
	size_t rows; /* rows that they share */
};

/* Folds rows of threads beyond `max`. Expects them sorted, and sorts the result. */
struct fold_counts fold_rows(struct firefox_rows *r, struct file_strings *strings, size_t max);

#endif
