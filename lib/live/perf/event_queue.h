/* SPDX-License-Identifier: MIT */
/*
 * Sorts events from many rings: those of this round, and those of the previous round that were too
 * recent for it.
 *
 * lib/stream/record/merge does not suffice: handling these events makes records that merge has to
 * sort, so events are handled up to this round's clock, while merge returns records only up to the
 * clock of the previous round.
 */
#pragma once

#include "bpf/live_record.h"
#include "lib/live/perf/perf_event.h"

struct queued_event {
	struct map_event event;
	uint64_t number; /* sequence number given by event_queue_add() */
	size_t path; /* position in `paths`; valid unless event.path is NULL */
	struct rec_copy *copy; /* stack copy that replaces the event; owned */
};

struct event_queue {
	VEC(struct queued_event) rows;
	struct strbuf paths;
	uint64_t added;
};

void event_queue_release(struct event_queue *t);
/* Copies the event. Takes ownership of `copy`; the event then has only its time and pid. */
void event_queue_add(struct event_queue *t, const struct map_event *event, struct rec_copy *copy);

/*
 * The event is valid during the call; the callee owns the copy (or NULL). The callee must not add
 * events.
 */
typedef void event_queue_fn(void *ctx, const struct map_event *event, struct rec_copy *copy);

/* Passes events older than `before`, in order of time, then of event_queue_add(). */
void event_queue_take(struct event_queue *t, uint64_t before, event_queue_fn *fn, void *ctx);
