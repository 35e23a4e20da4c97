/* SPDX-License-Identifier: MIT */
/*
 * Labels that a program gives to what its threads do: each becomes markers over the times in which
 * its samples were taken.
 */
#ifndef PROF_LIB_STREAM_SESSION_LABEL_FEED_H
#define PROF_LIB_STREAM_SESSION_LABEL_FEED_H

#include "bpf/record.h"
#include "lib/stream/session/tasks/tasks.h"

/* A thread's labels since its last record of them, and its samples with them up to a pause. */
struct label_run {
	string_id text; /* NO_STRING: no labels */
	uint64_t first, last; /* times of samples, CLOCK_MONOTONIC ns */
	uint32_t samples; /* 0: none yet */
};

struct label_feed {
	struct tasks *tasks;
	schema_id schema; /* of the markers; NO_SCHEMA: there were no labels yet */
	VEC(struct label_run) runs; /* by thread_id; those of later threads are empty */
};

void label_feed_init(struct label_feed *f, struct tasks *tasks);
void label_feed_release(struct label_feed *f);
void label_feed_labels(struct label_feed *f, const struct rec_labels *rec);
/* Takes a tick of the clock. Costs nothing in recordings without labels. */
void label_feed_sample(struct label_feed *f, const struct rec *rec);
/* Ends what is still under way. */
void label_feed_finish(struct label_feed *f);

#endif
