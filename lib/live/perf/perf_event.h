/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open(2): the sampling event that drives the BPF program, and the dummy event whose
 * ring tells of executable mappings, execs, and code that the kernel makes. One of each per online
 * CPU; see perf_event_open(2) and include/uapi/linux/perf_event.h for the record layouts.
 */
#ifndef PROF_LIB_LIVE_PERF_PERF_EVENT_H
#define PROF_LIB_LIVE_PERF_PERF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/live/perf/map_event.h"

enum sampling_clock {
	CLOCK_CYCLES, /* hardware cycles */
	CLOCK_CPU, /* the software cpu-clock, where there is no PMU */
	CLOCK_TASK, /* the software task-clock */
};

struct sampling_event {
	enum sampling_clock clock;
	uint64_t frequency_hz; /* 0: by period */
	uint64_t period_ns;
};

/* Opens the event on that CPU for every task, not enabled yet. A descriptor or a negative errno. */
int sampling_event_open(const struct sampling_event *event, uint32_t cpu);

/* Type and config as struct perf_event_attr has them; by frequency, by period, or not sampled. */
struct perf_event_choice {
	uint32_t type;
	uint64_t config;
	uint64_t frequency_hz, period;
	bool exclude_idle; /* not while the CPU has nothing to do; of a software clock only */
};

/* Likewise for any event. */
int perf_event_open_choice(const struct perf_event_choice *choice, uint32_t cpu);
/* For how long, in ns, an event was enabled, and a counter counted for it. 0 or a negative errno.
 */
int perf_event_read_times(int fd, uint64_t *enabled, uint64_t *running);
/*
 * The failure of an event that only hardware counts: the CPU has no such counter, or the machine
 * none at all. Returns its code.
 */
int error_no_hardware(struct error *err, const char *event, uint32_t cpu);

struct map_ring;

typedef void map_event_fn(void *ctx, const struct map_event *event);

/* Opens and maps the mapping event of one CPU; it reports from then on. */
int map_ring_open(struct map_ring **out, uint32_t cpu, struct error *err);
/* For polling: readable when there is something. */
int map_ring_fd(const struct map_ring *ring);
uint32_t map_ring_cpu(const struct map_ring *ring);
/* Hands every complete record over, oldest first. */
void map_ring_drain(struct map_ring *ring, map_event_fn *fn, void *ctx);
void map_ring_free(struct map_ring *ring);

#endif
