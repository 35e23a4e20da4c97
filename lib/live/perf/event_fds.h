/* SPDX-License-Identifier: MIT */
/*
 * The perf events other than the clock, with BPF programs attached: opened on every CPU, or once if
 * the kernel does not bind the event to a CPU. Functions that may fail return 0 or a negative errno
 * with err.
 */
#pragma once

#include "lib/live/perf/event_spec.h"
#include "lib/live/perf/perf_event.h"
#include "lib/stream/record/records.h"

/*
 * Records times in which the kernel had stopped sampling: an event that ticks more often than
 * kernel.perf_event_max_sample_rate allows is stopped until the CPU's next timer interrupt. The
 * kernel reports this only in rings, so sampling events share their CPU's mapping ring. They write
 * nothing else into it, because a BPF program consumes each sample first.
 */

/*
 * A busy CPU has a timer interrupt at least every 10 ms. During longer intervals the CPU was idle,
 * except in the first and the last 10 ms.
 */
#define THROTTLED_MAX_NS 20000000ull

/* An event on a CPU. */
struct throttled_event {
	uint64_t id; /* id given by the kernel; 0: free row */
	uint64_t since; /* 0: not throttled */
	uint32_t event; /* 0: the clock; otherwise id of a REC_EVENT_NAME */
	uint16_t cpu;
};

struct throttling {
	record_sink_fn *sink;
	void *ctx;
	VEC(struct throttled_event) rows;
	struct index by_id;
};

void throttling_init(struct throttling *t, record_sink_fn *sink, void *ctx);
void throttling_release(struct throttling *t);
/*
 * Makes the ring report when the event `fd` is throttled on its CPU. If the kernel cannot,
 * throttling of the event stays unknown.
 */
void throttling_watch(struct throttling *t, int fd, uint32_t event, const struct map_ring *ring);
/* Adds a row, like throttling_watch(). */
void throttling_add(struct throttling *t, uint64_t id, uint32_t event, uint32_t cpu);
/* Handles MAP_EVENT_THROTTLED and MAP_EVENT_SAMPLED in ring order. Sends a record for each pair. */
void throttling_take(struct throttling *t, const struct map_event *event);
/* Ends the intervals of the CPU's events at `time`. */
void throttling_forget(struct throttling *t, uint32_t cpu, uint64_t time);
/* Ends all open intervals at `time`, the end of the recording. */
void throttling_finish(struct throttling *t, uint64_t time);

struct event_fd {
	uint32_t cpu, event;
	int fd;
	int link; /* -1: not attached */
};

/*
 * Times during which an event was enabled and during which it was counted. They differ if tools
 * share hardware counters.
 */
struct event_times {
	uint64_t enabled_ns, running_ns; /* sums over all CPUs */
};

/* The caller sets all members above `rows` and zeroes the rest. */
struct event_fds {
	const struct event_list *list; /* resolved events; borrowed */
	struct throttling *throttling; /* borrowed */
	uint64_t interval_ns; /* clock interval; also the default for hardware events */
	int program, tracepoint_program, marker_program; /* descriptors, borrowed */
	VEC(struct event_fd) rows;
	bool enabled;
	struct event_times times[EVENTS_MAX]; /* by event; complete once all events are disabled */
};

/* Opens all events of the list on a CPU, enabled if the others are. */
int event_fds_open(struct event_fds *e, uint32_t cpu, const struct map_ring *ring,
		   struct error *err);
/* Closes the events of a CPU, after adding up their times. */
void event_fds_close(struct event_fds *e, uint32_t cpu);
/* Enables or disables all events. Continues after a failure and returns the first one. */
int event_fds_enable(struct event_fds *e, bool enable, struct error *err);
void event_fds_release(struct event_fds *e);
