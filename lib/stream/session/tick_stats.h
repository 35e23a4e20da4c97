/* SPDX-License-Identifier: MIT */
/*
 * Classifies each timer tick: a tick with a sample is in exactly one class of profile_stats, any
 * other in profile_stats.lost.
 */
#ifndef PROF_LIB_STREAM_SESSION_TICK_STATS_H
#define PROF_LIB_STREAM_SESSION_TICK_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/tables/profile.h"

struct tick_stats_entry {
	uint8_t sample_flags; /* flags of REC_SAMPLE */
	uint8_t stack_flags; /* flags of its REC_STACK; 0 without one */
	bool is_cut; /* outer frames of the record are missing from the profile */
	bool is_32bit; /* the program is 32-bit */
	bool has_unknown_kind; /* frames were left out because their kind is unknown */
	uint32_t ticks;
};

/* Classifies the stack of a tick, or of a wait. */
enum stack_class tick_stats_class(const struct tick_stats_entry *entry);
void tick_stats_count(struct profile_stats *stats, const struct tick_stats_entry *entry);

#endif
