/* SPDX-License-Identifier: MIT */
/* Formats whose samples have no weights write a sample as often as it counts, within bounds. */
#pragma once

#include "lib/base/base.h"
#include "lib/model/tables/profile.h"

/* Samples by how often they are to be written: number n has those of less than 2^n, but not less
 * than half. */
struct repeats {
	uint64_t samples[65], rows[65];
	uint64_t max; /* maximum for one sample, from repeats_limit() */
	uint64_t lost; /* rows that repeats_of() left out */
};

void repeats_add(struct repeats *r, uint64_t count);
/*
 * Finds the maximum for one sample that bounds the rows of all. Call it once all samples are added.
 */
void repeats_limit(struct repeats *r);
/* Returns how often to write a sample, at least once. */
uint64_t repeats_of(struct repeats *r, uint64_t count);
/* Warns of what was left out. */
void repeats_tell(const struct repeats *r, const char *format);

/* The samples of one thread as a row of stacks without holes, for formats that have no times. */

/* A sample, or a gap before one. */
struct scope_row {
	stack_id stack;
	bool is_gap;
	uint64_t weight;
};

struct scope_rows {
	VEC(struct scope_row) list;
	uint64_t sum; /* of weights */
};

/*
 * Collects the event's samples. Those with times are placed: a row of several ticks ends with the
 * tick of its time, unless it has the time that passed from then on. The caller releases the list.
 */
void scope_rows_collect(struct scope_rows *rows, const struct profile *p,
			const struct profile_thread *thread, uint8_t event, bool has_times);
