/* SPDX-License-Identifier: MIT */
/*
 * The events besides the clock: opened on every CPU, or once where the kernel has no such bounds,
 * and attached to the BPF programs that make records of them.
 */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_EVENT_SET_H
#define PROF_LIB_LIVE_INSTRUMENTS_EVENT_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/config.h"
#include "bpf/record.h"
#include "lib/base/error.h"
#include "lib/live/perf/event_spec.h"
#include "lib/live/machine/cpu_list.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/perf/throttling.h"

/* What became of an event's occurrences, besides those that are in the profile. */
struct event_stats {
	const char *name;
	uint64_t left_over; /* since the last sample, on each CPU: too few for another one */
	uint64_t enabled_ns, running_ns; /* of hardware counters, which may have to take turns */
};

struct event_set;

typedef void event_record_fn(void *ctx, const struct rec *rec);

/* What the programs are told: `limits` has room for EVENTS_MAX. */
void event_set_limits(const struct event_list *list, struct event_limit *limits);

/* `list` is resolved; it and the programs are borrowed. Opens nothing yet. */
struct event_set *event_set_new(const struct event_list *list, double clock_hz,
				struct programs *programs, const struct cpu_list *possible);
void event_set_free(struct event_set *set);
/* Everything on a CPU that is online, or nothing. 0 or a negative errno. */
int event_set_open_cpu(struct event_set *set, uint32_t cpu, struct error *err);
/* It will be known when the kernel stops sampling them on that ring's CPU. */
void event_set_watch(const struct event_set *set, struct throttling *throttling,
		     const struct map_ring *ring);
void event_set_close_cpu(struct event_set *set, uint32_t cpu);
/* From then on, or no longer, they are sampled on every CPU that is open. */
int event_set_enable(struct event_set *set, bool enable, struct error *err);

/* A REC_EVENT_NAME for each. */
void event_set_announce(const struct event_set *set, uint64_t time, event_record_fn *fn, void *ctx);
/* A REC_LOST for each event and CPU that has lost some since the last time. */
void event_set_report(struct event_set *set, uint64_t time, event_record_fn *fn, void *ctx);
/* As of the last event_set_report(): rows for events 1 to count - 1, valid while the set is. */
const struct event_stats *event_set_stats(const struct event_set *set, uint32_t *count);

#endif
