/* SPDX-License-Identifier: MIT */
/* The samples of one thread as a row of stacks without holes, for formats that have no times. */
#pragma once

#include "lib/model/tables/profile.h"

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
