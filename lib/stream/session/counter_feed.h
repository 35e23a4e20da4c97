/* SPDX-License-Identifier: MIT */
/* Enters counters of the stream into the profile. */
#ifndef PROF_LIB_STREAM_SESSION_COUNTER_FEED_H
#define PROF_LIB_STREAM_SESSION_COUNTER_FEED_H

#include "bpf/record.h"
#include "lib/stream/session/tasks/tasks.h"

/* Bounds the values: half are left of more. */
#define COUNTER_VALUES_MAX (1u << 20)

struct wire_counter {
	uint32_t wire_id;
	counter_id id;
	uint64_t total; /* sum of all changes; wraps around */
};

struct counter_feed {
	struct profile *profile;
	struct tasks *tasks;
	VEC(struct wire_counter) rows;
	struct index by_wire_id;
	size_t values; /* of all counters */
	size_t max; /* of these; COUNTER_VALUES_MAX but in tests */
};

void counter_feed_init(struct counter_feed *f, struct profile *profile, struct tasks *tasks);
void counter_feed_release(struct counter_feed *f);
/* Ignores later descriptions of the same id, and any without a name. */
void counter_feed_info(struct counter_feed *f, const struct rec_counter_info *rec);
/* Values of a counter without a description are counted as lost. */
void counter_feed_count(struct counter_feed *f, const struct rec_counter *rec);

#endif
