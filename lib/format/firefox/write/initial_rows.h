/* SPDX-License-Identifier: MIT */
/* Chooses the rows that a front-end shows when it opens the file. */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_INITIAL_ROWS_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_INITIAL_ROWS_H

#include "lib/format/firefox/write/firefox_rows.h"

/*
 * Sets is_visible[i], initially false, for the busiest rows and their main threads; without
 * samples, for the first rows. Needs at least one row. Returns the row to select.
 */
size_t initial_rows(const struct firefox_rows *r, bool *is_visible);

#endif
