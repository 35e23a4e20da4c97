/* SPDX-License-Identifier: MIT */
/* Sums of the time that threads waited, by reason. */
#pragma once

#include "lib/model/meaning/categories.h"
#include "lib/model/tables/profile.h"

/* Weights, in ticks of the clock during the waits. */
struct wait_sums {
	uint64_t rows;
	uint64_t idle, runnable, blocked;
	uint64_t blocked_by[IDLE_SUBCATEGORY_COUNT];
};

/*
 * Returns the reason of a wait, an enum idle_subcategory; -1 if the sample is not a wait, or its
 * reason is unknown.
 */
int wait_reason(const struct profile *p, const struct sample *sample);
/* Adds a sample if it is a wait. */
void wait_sums_add(struct wait_sums *sums, const struct profile *p, const struct sample *sample);
/* Sums over all threads. */
struct wait_sums wait_sums_of(const struct profile *p);
/* Returns the CPU time of all threads, ns. */
uint64_t wait_sums_ran(const struct profile *p);
