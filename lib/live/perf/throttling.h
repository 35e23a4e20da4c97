/* SPDX-License-Identifier: MIT */
/*
 * When the kernel stopped sampling: an event that ticks more often than
 * kernel.perf_event_max_sample_rate allows is stopped until the CPU's next timer interrupt. The
 * kernel tells only rings, so sampling events borrow the mapping ring of their CPU. Nothing else
 * of theirs comes there: a BPF program has taken each sample before.
 */
#ifndef PROF_LIB_LIVE_PERF_THROTTLING_H
#define PROF_LIB_LIVE_PERF_THROTTLING_H

#include <stdint.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/record/sink.h"
#include "lib/live/perf/perf_event.h"

/*
 * A CPU with something to do has a timer interrupt every 10 ms at least. Where an interval is
 * longer, the CPU had none because it had nothing to do, for all but the first and the last of
 * them.
 */
#define THROTTLED_MAX_NS 20000000ull

/* An event on a CPU. */
struct throttled_event {
	uint64_t id; /* the kernel's; 0: the row is free */
	uint64_t since; /* 0: it is being sampled */
	uint32_t event; /* 0: the clock; else of a REC_EVENT_NAME */
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
 * From now on the ring tells when that event is not sampled on its CPU; fd is the event's. Where
 * the kernel refuses, that stays unknown.
 */
void throttling_watch(struct throttling *t, int fd, uint32_t event, const struct map_ring *ring);
/* A row as throttling_watch() makes them. */
void throttling_add(struct throttling *t, uint64_t id, uint32_t event, uint32_t cpu);
/* MAP_EVENT_THROTTLED or MAP_EVENT_SAMPLED, in the order of their ring: each pair is a record. */
void throttling_take(struct throttling *t, const struct map_event *event);
/* The CPU's events end at that time. */
void throttling_forget(struct throttling *t, uint32_t cpu, uint64_t time);
/* What is not sampled at that time, the end of recording, will not be again. */
void throttling_finish(struct throttling *t, uint64_t time);

#endif
