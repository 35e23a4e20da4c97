/* SPDX-License-Identifier: MIT */
/*
 * Makes fewer rows of a thread's samples where little is lost by it. What each stack weighs and the
 * CPU time stay exactly as they are. has_readings: the rows' cpu_delta is still a reading, as in
 * cpu_time.h.
 */
#ifndef PROF_LIB_STREAM_SESSION_ROW_MERGING_H
#define PROF_LIB_STREAM_SESSION_ROW_MERGING_H

#include "lib/model/tables/profile.h"

/*
 * Makes one wait, with a row at its start and one at its end, of waits that follow each other
 * without anything between them. Returns how many rows have gone.
 */
uint64_t row_merging_waits(const struct profile *p, struct samples *samples, bool has_readings);
/*
 * Lets the last of the ticks with one stack within `window` ns stand for all of them. Waits end a
 * window. Returns how many rows have gone.
 */
uint64_t row_merging_ticks(const struct profile *p, struct samples *samples, uint64_t window,
			   bool has_readings);

#endif
