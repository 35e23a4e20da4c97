/* SPDX-License-Identifier: MIT */
/*
 * Merges the records of many rings in order of time, with a bounded delay. A round is:
 *
 *	merge_begin_round(m, clock);		// clock read *before* any ring is
 *	merge_add(m, rec); …			// everything in the rings now
 *	while ((rec = merge_next(m))) …		// those older than the previous round's clock
 *
 * The rings contain everything written before the round began, so no record that precedes one older
 * than the previous round's clock can still arrive. Records that come even later are counted and
 * kept, never dropped. Equal times keep the order of merge_add().
 *
 * At most the records of two rounds wait here, plus those that the caller leaves, which it must
 * bound.
 */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"

struct merge;

struct merge *merge_new(void);
void merge_free(struct merge *m);

void merge_begin_round(struct merge *m, uint64_t clock_ns);
/*
 * Marks this round as incomplete: records younger than the last complete round stay until the next
 * round.
 */
void merge_hold_watermark(struct merge *m);
/* Copies the record. Returns false, without adding it, if its kind never leaves the recorder. */
bool merge_add(struct merge *m, const struct rec *rec);
/* Ends the last round: from now on merge_next() returns all records. */
void merge_finish(struct merge *m);
/* Returns the next record in order, valid until the next merge_begin_round(), or NULL. */
const struct rec *merge_next(struct merge *m);
/* Returns the time before which merge_next() has returned all records. */
uint64_t merge_given_ns(const struct merge *m);
/*
 * True if there are many records, or a long time has passed since it was last true. Call once a
 * round, and take no records if it is false: taking a few each round costs more, because other
 * programs use the CPU's caches in between.
 */
bool merge_is_due(struct merge *m);
/* Return the bytes taken by waiting records: now, and at most so far. */
uint64_t merge_size(const struct merge *m);
uint64_t merge_peak(const struct merge *m);
