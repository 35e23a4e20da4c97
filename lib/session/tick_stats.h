/* SPDX-License-Identifier: MIT */
/*
 * What became of each timer tick: one that is a sample now is in exactly one class of
 * profile_stats, one that is none is in profile_stats.lost.
 */
#ifndef PROF_LIB_SESSION_TICK_STATS_H
#define PROF_LIB_SESSION_TICK_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/profile/profile.h"

struct tick_stats_entry {
	uint8_t sample_flags; /* of REC_SAMPLE */
	uint8_t stack_flags; /* of its REC_STACK; 0 where it has none */
	bool is_cut; /* outer frames of the record are not in the profile */
	bool is_32bit; /* the program is */
	bool has_unknown_kind; /* frames of it are not in the profile: their kind is not known */
	uint32_t ticks;
};

void tick_stats_count(struct profile_stats *stats, const struct tick_stats_entry *entry);

#endif
