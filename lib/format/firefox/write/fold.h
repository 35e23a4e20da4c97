/* SPDX-License-Identifier: MIT */
/*
 * Limits the number of rows: threads that began and ended during the recording share one row per
 * program ("cc1 × 312"). So do the threads of each program with many short-lived processes, and
 * others beyond a number of rows.
 *
 * These keep a row of their own: threads that existed when recording began or ended, the main
 * thread of the root process, and the main thread of each process that has another thread with a
 * row; of programs with few processes, the busiest threads up to the number.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_FOLD_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_FOLD_H

#include "lib/format/firefox/write/firefox_rows.h"

struct fold_counts {
	size_t threads; /* threads without a row of their own */
	size_t rows; /* rows that they share */
};

struct fold_limits {
	size_t rows;
	size_t processes; /* short-lived processes of a program */
};

/* Merges rows of threads beyond the limits. Expects sorted rows, and sorts the result. */
struct fold_counts fold_rows(struct firefox_rows *r, struct file_strings *strings,
			     const struct fold_limits *limits);

#endif
