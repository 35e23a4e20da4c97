/* SPDX-License-Identifier: MIT */
/*
 * Reports of instruments on a recording, as data that cmd prints: facts, lines of the summary,
 * warnings.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/model/facts/facts.h"

/* Counts of an event's records after they left the recorder. */
struct event_tally {
	uint64_t samples; /* number of samples in the profile */
	uint64_t weight; /* occurrences represented by the samples */
	uint64_t lost;
	/* Number and length of the kernel's pauses of the event. */
	uint64_t throttled, throttled_ns;
};

struct record_tally {
	uint64_t ticks; /* clock ticks in the profile, or known to be lost */
	/* Ticks that never came because the kernel had stopped the clock. */
	uint64_t throttled_ticks;
	const struct event_tally *events; /* by event number */
	uint32_t event_count;
};

/* A zeroed struct is empty. */
struct report {
	VEC(char *) features; /* features of the recording, for the profile's meta */
	VEC(char *) lines; /* lines for the summary */
	VEC(char *) warnings;
	struct facts facts;
};

void report_release(struct report *r);

static inline void report_release_cleanup(struct report *r)
{
	report_release(r);
}

/* Copies the text. */
void report_feature(struct report *r, const char *name);
void report_line(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_warning(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
