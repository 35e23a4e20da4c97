/* SPDX-License-Identifier: MIT */
/*
 * Puts the records of many rings into one order of time, with a bounded delay. A round is:
 *
 *	merge_begin_round(m, clock);		// clock read *before* any ring is
 *	merge_add(m, rec); …			// everything that is in the rings now
 *	while ((rec = merge_next(m))) …		// what is older than the previous round's clock
 *
 * All that was written before a round began is in the rings when they are read, so whatever is
 * older than the previous round's reading can have no predecessor left outside. Records that come
 * later still are counted and kept, never dropped. Equal times keep the order of merge_add().
 *
 * What waits here is what came in two rounds at most: whoever adds bounds it by what a round may
 * bring.
 */
#ifndef PROF_LIB_RECORD_MERGE_H
#define PROF_LIB_RECORD_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"

struct merge;

struct merge *merge_new(void);
void merge_free(struct merge *m);

void merge_begin_round(struct merge *m, uint64_t clock_ns);
/*
 * Not everything was read in this round: what is younger than the last complete one stays until the
 * next.
 */
void merge_hold_watermark(struct merge *m);
/* Copies the record. False: its kind never leaves the recorder, and nothing was added. */
bool merge_add(struct merge *m, const struct rec *rec);
/* No more rounds: from now on merge_next() gives everything. */
void merge_finish(struct merge *m);
/* The next record in order, valid until the next merge_begin_round(), or NULL. */
const struct rec *merge_next(struct merge *m);
/* Bytes that are taken by records that were not given out yet, as of now, or the most there were.
 */
uint64_t merge_size(const struct merge *m);
uint64_t merge_peak(const struct merge *m);

#endif
