/* SPDX-License-Identifier: MIT */
/*
 * Samples of all kinds, and what becomes of them once their stack is there: rows of threads, values
 * of markers, waits.
 */
#ifndef PROF_LIB_STREAM_SESSION_SAMPLE_FEED_H
#define PROF_LIB_STREAM_SESSION_SAMPLE_FEED_H

#include "lib/stream/session/alloc_feed.h"
#include "lib/stream/session/losses.h"
#include "lib/stream/session/pending.h"
#include "lib/stream/session/resolve.h"
#include "lib/stream/session/tasks/tasks.h"
#include "lib/stream/session/waits/waits.h"

struct sample_feed {
	struct profile *profile;
	struct tasks *tasks;
	struct losses *losses;
	uint32_t lost_cause; /* enum lost_cause of samples whose stack never comes */
	struct resolver resolver;
	struct pending pending;
	struct waits waits;
	struct alloc_feed allocs;
};

void sample_feed_init(struct sample_feed *f, struct tasks *tasks, struct losses *losses);
/* Before tasks_release(). */
void sample_feed_release(struct sample_feed *f);

/* REC_SAMPLE, REC_STACK, REC_EVENT, REC_WAIT, REC_RUN or REC_ALLOC. */
void sample_feed_record(struct sample_feed *f, const struct rec *rec);
/* `thread` is the one that ended. */
void sample_feed_exit(struct sample_feed *f, thread_id thread, const struct rec_exit *rec);
/* A marker_stack_fn of marker_feed.h; ctx: struct sample_feed. */
void sample_feed_marker_stack(void *ctx, uint32_t value, const struct rec_marker_stack *stack);
/* Drops stacks of old epochs, see resolver_forget(), and samples from before that time without one.
 */
void sample_feed_forget(struct sample_feed *f, uint64_t before_ns);
/* Mark stacks of what has no row yet, see stacks_mark(); and give it the new ones. */
void sample_feed_mark_stacks(const struct sample_feed *f, bool *used);
void sample_feed_move_stacks(struct sample_feed *f, const stack_id *map);
/* Samples that still wait for their stack are lost. */
void sample_feed_finish(struct sample_feed *f, uint64_t end_ns);

#endif
