/* SPDX-License-Identifier: MIT */
/* Chooses the rows that a front-end shows when it opens the file. */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_INITIAL_ROWS_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_INITIAL_ROWS_H

#include "lib/format/firefox/write/firefox_rows.h"

/*
 * Sets is_visible[i], initially false, for the busiest rows and their main threads; without
 * samples, for the first rows. Sets is_selected[i] for the rows whose samples are shown together:
 * of several processes all rows with CPU time, else the busiest row. Needs at least one row.
 */
void initial_rows(const struct firefox_rows *r, bool *is_visible, bool *is_selected);

#endif
