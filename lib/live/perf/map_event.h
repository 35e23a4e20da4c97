/* SPDX-License-Identifier: MIT */
/* Parses the records of a mapping ring, see map_ring_open(). */
#ifndef PROF_LIB_LIVE_PERF_MAP_EVENT_H
#define PROF_LIB_LIVE_PERF_MAP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of events from a mapping ring. */
enum map_event_kind {
	MAP_EVENT_MAP,
	MAP_EVENT_NEW_SPACE, /* an exec replaces the address space */
	MAP_EVENT_CODE, /* the kernel has generated code; `path` is its name */
	MAP_EVENT_LOST,
	MAP_EVENT_THROTTLED, /* a sampling event that shares the ring was stopped … */
	MAP_EVENT_SAMPLED, /* … and restarted */
	/* Not from the ring, but sorted among its events: start and exit of processes. */
	MAP_EVENT_FORK,
	MAP_EVENT_EXIT,
};

struct map_event {
	enum map_event_kind kind;
	uint64_t time;
	uint32_t pid, tid, cpu;
	uint32_t parent_pid; /* of MAP_EVENT_FORK */
	uint64_t start, size, file_offset;
	uint64_t inode; /* valid without a build id */
	uint64_t inode_generation; /* likewise; tells files apart that had the number in turn */
	uint32_t device_major, device_minor;
	uint8_t build_id_size; /* 0: none */
	uint8_t build_id[20];
	uint64_t lost; /* MAP_EVENT_LOST: number of events */
	uint64_t event_id; /* MAP_EVENT_THROTTLED, MAP_EVENT_SAMPLED: PERF_EVENT_IOC_ID */
	const char *path; /* in the process's root; valid during the callback only */
};

/*
 * Fields that the kernel appends to every record of the mapping event: pid, tid, time, cpu,
 * reserved. Sampling events that share the ring have none, because the kernel would fill them in
 * for each sample in vain.
 */
#define MAP_EVENT_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define MAP_EVENT_SAMPLE_ID_SIZE 24

/*
 * Parses a record with its header into *event, which points into it. Leaves `time` unchanged if the
 * record has none, and `cpu`, too. False: of no interest, or malformed.
 */
bool map_event_parse(const void *record, size_t size, struct map_event *event);

#endif
