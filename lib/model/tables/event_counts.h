/* SPDX-License-Identifier: MIT */
/* Sampled events other than the clock, by the number that the recording gives them. */
#ifndef PROF_LIB_MODEL_TABLES_EVENT_COUNTS_H
#define PROF_LIB_MODEL_TABLES_EVENT_COUNTS_H

#include "lib/base/vec.h"
#include "lib/model/tables/ids.h"

/* More than any recorder numbers. Higher numbers in a file are rejected. */
#define EVENT_COUNTS_MAX 64

struct event_count {
	string_id name; /* NO_STRING: not known */
	uint64_t samples; /* in the profile */
	uint64_t weight; /* occurrences that the samples stand for */
	uint64_t lost; /* occurrences known to be missing */
	uint64_t throttled, throttled_ns; /* as in struct cpu_losses, summed over all CPUs */
};

struct event_counts {
	VEC(struct event_count) rows; /* 0 is the clock, and empty */
};

void event_counts_release(struct event_counts *c);
/*
 * Returns the row of that number, added if new; NULL from EVENT_COUNTS_MAX on. Valid until the next
 * call.
 */
struct event_count *event_counts_get(struct event_counts *c, uint32_t number);

#endif
