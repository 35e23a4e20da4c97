/* SPDX-License-Identifier: MIT */
/*
 * Opens perf events: the sampling event that drives the BPF program, and the dummy event whose ring
 * reports executable mappings, execs, and code that the kernel generates. One of each per online
 * CPU. For the record layouts see perf_event_open(2) and include/uapi/linux/perf_event.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* Parses the records of a mapping ring, see map_ring_open(). */

/* Kinds of events from a mapping ring. */
enum map_event_kind {
	MAP_EVENT_MAP,
	MAP_EVENT_NEW_SPACE, /* an exec has replaced the address space */
	MAP_EVENT_CODE, /* the kernel has generated code; `path` is its name */
	MAP_EVENT_LOST,
	MAP_EVENT_THROTTLED, /* a sampling event that shares the ring has been stopped … */
	MAP_EVENT_SAMPLED, /* … and restarted */
	/* Not from the ring, but sorted among its events: start and exit of processes. */
	MAP_EVENT_FORK,
	MAP_EVENT_EXIT,
};

struct map_event {
	enum map_event_kind kind;
	uint64_t time;
	uint32_t pid, tid, cpu;
	uint32_t parent_pid; /* for MAP_EVENT_FORK */
	uint64_t start, size, file_offset;
	uint64_t inode; /* valid if there is no build id */
	uint64_t inode_generation; /* valid if there is no build id; distinguishes files that reuse
				      the inode number */
	uint32_t device_major, device_minor;
	uint8_t build_id_size; /* 0: none */
	uint8_t build_id[20];
	uint64_t lost; /* for MAP_EVENT_LOST: number of events */
	uint64_t event_id; /* for MAP_EVENT_THROTTLED and MAP_EVENT_SAMPLED: PERF_EVENT_IOC_ID */
	const char *path; /* path in the root of the process; valid only during the callback */
};

/*
 * Fields that the kernel appends to every record of the mapping event: pid, tid, time, cpu,
 * reserved. Sampling events that share the ring lack them, because the kernel would fill them in
 * for each sample to no use.
 */
#define MAP_EVENT_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define MAP_EVENT_SAMPLE_ID_SIZE 24

/*
 * Parses a record with its header into *event, which points into it. Leaves `time` and `cpu`
 * unchanged if the record has none. False if it is irrelevant or malformed.
 */
bool map_event_parse(const void *record, size_t size, struct map_event *event);

enum sampling_clock {
	CLOCK_CYCLES, /* hardware cycles */
	CLOCK_CPU, /* the software cpu-clock, for machines without a PMU */
	CLOCK_TASK, /* the software task-clock */
};

struct sampling_event {
	enum sampling_clock clock;
	uint64_t frequency_hz; /* 0: sample by period */
	uint64_t period_ns;
};

/* Opens the event on a CPU for all tasks, disabled. Returns a descriptor or a negative errno. */
int sampling_event_open(const struct sampling_event *event, uint32_t cpu);

/*
 * An event by type and config of struct perf_event_attr; sampled by frequency, by period, or not.
 */
struct perf_event_choice {
	uint32_t type;
	uint64_t config;
	uint64_t frequency_hz, period;
	bool exclude_idle; /* do not tick on an idle CPU; for software clocks only */
};

/* Does the same as sampling_event_open() for any event. */
int perf_event_open_choice(const struct perf_event_choice *choice, uint32_t cpu);
/*
 * Reads how long, in ns, the event was enabled and how long it was counted. Returns 0 or a negative
 * errno.
 */
int perf_event_read_times(int fd, uint64_t *enabled, uint64_t *running);
/*
 * Sets the error for a hardware event that failed: the CPU lacks the counter, or the machine has
 * none. Returns its code.
 */
int error_no_hardware(struct error *err, const char *event, uint32_t cpu);

struct map_ring;

typedef void map_event_fn(void *ctx, const struct map_event *event);

/* Opens and maps the mapping event of a CPU, which reports from then on. */
int map_ring_open(struct map_ring **out, uint32_t cpu, struct error *err);
/* Returns a descriptor that is readable when a share of the ring has been written. */
int map_ring_fd(const struct map_ring *ring);
uint32_t map_ring_cpu(const struct map_ring *ring);
/* Passes every complete record to fn, oldest first. */
void map_ring_drain(struct map_ring *ring, map_event_fn *fn, void *ctx);
/*
 * map_ring_drain() for the last time: also reports losses at its end, which the kernel would report
 * only with the next record.
 */
void map_ring_finish(struct map_ring *ring, map_event_fn *fn, void *ctx);
void map_ring_free(struct map_ring *ring);
