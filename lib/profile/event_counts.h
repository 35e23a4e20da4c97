/* SPDX-License-Identifier: MIT */
/* The events besides the clock that were sampled, by the number that the recording gives them. */
#ifndef PROF_LIB_PROFILE_EVENT_COUNTS_H
#define PROF_LIB_PROFILE_EVENT_COUNTS_H

#include "lib/base/vec.h"
#include "lib/profile/ids.h"

/* More than any recorder gives; what a file claims beyond is not believed. */
#define EVENT_COUNTS_MAX 64

struct event_count {
	string_id name; /* NO_STRING: not known */
	uint64_t samples; /* in the profile */
	uint64_t weight; /* occurrences that they stand for */
	uint64_t lost; /* occurrences that are known to be missing */
	uint64_t throttled, throttled_ns; /* as in struct cpu_losses, summed over all CPUs */
};

struct event_counts {
	VEC(struct event_count) rows; /* 0 is the clock, and empty */
};

void event_counts_release(struct event_counts *c);
/* The row of that number, made where it is new; NULL beyond EVENT_COUNTS_MAX. Valid until then. */
struct event_count *event_counts_get(struct event_counts *c, uint32_t number);

#endif
