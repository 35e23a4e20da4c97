/* SPDX-License-Identifier: MIT */
/* Traits of the clock that took the rows of a chunk. */
#ifndef PROF_LIB_MODEL_TABLES_SAMPLE_CLOCK_H
#define PROF_LIB_MODEL_TABLES_SAMPLE_CLOCK_H

#include "lib/model/tables/samples.h"

/* Other intervals, in ns, say nothing of the times that come. */
#define INTERVAL_MIN 1024u
#define INTERVAL_MAX (1u << 31)
/* CPU time is a reading in units of 16 ns while it is recorded, then a difference in ns. */
#define READING_SHIFT 4

/*
 * Returns the clock's interval in ns. An error adds up until a phase follows that moves by an
 * eighth of its distance, to eight times as much in each row.
 */
uint64_t sample_clock_interval(const struct sample *rows, size_t count);
/*
 * Are the CPU times readings? Rows vote, as a few after long pauses are far from either: readings
 * grow with the time that passed, differences are about as long.
 */
bool sample_clock_has_readings(const struct sample *rows, size_t count);

#endif
