/* SPDX-License-Identifier: MIT */
/* Counters of the stream → those of the profile. */
#ifndef PROF_LIB_SESSION_COUNTER_FEED_H
#define PROF_LIB_SESSION_COUNTER_FEED_H

#include "bpf/record.h"
#include "lib/session/tasks.h"

struct wire_counter {
	uint32_t wire_id;
	counter_id id;
};

struct counter_feed {
	struct profile *profile;
	struct tasks *tasks;
	VEC(struct wire_counter) rows;
	struct index by_wire_id;
};

void counter_feed_init(struct counter_feed *f, struct profile *profile, struct tasks *tasks);
void counter_feed_release(struct counter_feed *f);
/* The first description of an id holds; one without a name is none. */
void counter_feed_info(struct counter_feed *f, const struct rec_counter_info *rec);
/* What a counter counts that was never described is lost. */
void counter_feed_count(struct counter_feed *f, const struct rec_counter *rec);

#endif
