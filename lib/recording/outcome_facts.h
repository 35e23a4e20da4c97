/* SPDX-License-Identifier: MIT */
/* Adds facts derived from a recording's records and recorder. */
#pragma once

#include "lib/model/facts/facts.h"
#include "lib/live/recorder.h"
#include "lib/model/tables/profile.h"

/* Adds the instruments' reports. Call once their records are in the profile. */
void outcome_facts_ask(struct report *report, const struct recorder *recorder,
		       const struct profile *p);
/* Adds settings, stacks, losses and pauses of the finished profile. */
void outcome_facts_add_end(struct facts *f, const struct profile *p, enum recorder_unwind unwind,
			   const struct recorder_info *info);
/* Adds number, length and precision of waits. */
void outcome_facts_add_waits(struct facts *f, const struct profile *p);

/*
 * Returns the number of ticks whose stack can be whole: not lost, and of tasks that run in user
 * space. Shares of stacks refer to this number.
 */
uint64_t outcome_stacks(const struct profile_stats *stats);
/*
 * Appends "CPU 1 for 12 ms (3 times), cycles for 4 ms (1 time)": CPUs on which the kernel throttled
 * the clock, and other throttled events, summed over all CPUs. Appends nothing if there was no
 * throttling.
 */
void throttling_describe(const struct profile *p, struct strbuf *out);
