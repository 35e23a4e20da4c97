/* SPDX-License-Identifier: MIT */
/*
 * Parallelism: how many of the recording's threads run at a time. A sample's share of the wall time
 * is its weight divided by the parallelism, its latency.
 */
#pragma once

#include "lib/query/select.h"

/* A zeroed struct is empty: nothing runs. */
struct parallelism {
	uint64_t from, bin_ns; /* CLOCK_MONOTONIC start of the first bin; length of each */
	size_t bins;
	uint32_t *levels; /* by bin: mean number of running threads, in fractions */
};

/*
 * Finds out when threads ran, whether they are selected or not: from the clock's samples, or from
 * those of the selected event if there are none. The query's categories must be complete. -ENODATA
 * with err if the profile has no times.
 */
int parallelism_find(struct parallelism *x, const struct query *q, struct error *err);
/* Returns the number of threads that run at that time, to the nearest; at least 1. */
uint32_t parallelism_at(const struct parallelism *x, uint64_t time);
void parallelism_release(struct parallelism *x);
