/* SPDX-License-Identifier: MIT */
/*
 * The perf events other than the clock, opened on every CPU, or once if the kernel does not bind
 * the event to a CPU, with BPF programs attached. Functions that may fail return 0 or a negative
 * errno with err.
 */
#ifndef PROF_LIB_LIVE_PERF_EVENT_FDS_H
#define PROF_LIB_LIVE_PERF_EVENT_FDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"
#include "lib/live/perf/event_spec.h"
#include "lib/live/perf/perf_event.h"
#include "lib/live/perf/throttling.h"

struct event_fd {
	uint32_t cpu, event;
	int fd;
	int link; /* -1: not attached */
};

/*
 * Times in which an event was enabled and was counted. They differ if tools share hardware
 * counters.
 */
struct event_times {
	uint64_t enabled_ns, running_ns; /* sums over CPUs */
};

/* The caller sets all members above `rows` and zeroes the rest. */
struct event_fds {
	const struct event_list *list; /* resolved; borrowed */
	struct throttling *throttling; /* borrowed */
	uint64_t interval_ns; /* of the clock; hardware events' default sampling interval */
	int program, tracepoint_program, marker_program; /* descriptors, borrowed */
	VEC(struct event_fd) rows;
	bool enabled;
	struct event_times times[EVENTS_MAX]; /* by event; complete once all are disabled */
};

/* Opens all events of the list on a CPU, enabled if the others are. */
int event_fds_open(struct event_fds *e, uint32_t cpu, const struct map_ring *ring,
		   struct error *err);
/* Closes the events of a CPU, after adding up their times. */
void event_fds_close(struct event_fds *e, uint32_t cpu);
/* Enables or disables all events. Continues after a failure and returns the first one. */
int event_fds_enable(struct event_fds *e, bool enable, struct error *err);
void event_fds_release(struct event_fds *e);

#endif
