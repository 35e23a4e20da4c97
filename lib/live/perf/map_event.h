/* SPDX-License-Identifier: MIT */
/* The records of a mapping ring, see map_ring_open(): what they look like and what they tell. */
#ifndef PROF_LIB_LIVE_PERF_MAP_EVENT_H
#define PROF_LIB_LIVE_PERF_MAP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a mapping ring tells. */
enum map_event_kind {
	MAP_EVENT_MAP,
	MAP_EVENT_NEW_SPACE, /* an exec replaces the address space */
	MAP_EVENT_CODE, /* the kernel has made code for itself, of that name (path) */
	MAP_EVENT_LOST,
	MAP_EVENT_THROTTLED, /* an event that writes into this ring, too, is not sampled … */
	MAP_EVENT_SAMPLED, /* … and is again */
	/* Not from here, but put in order with the others: a process has begun, or exited. */
	MAP_EVENT_FORK,
	MAP_EVENT_EXIT,
};

struct map_event {
	enum map_event_kind kind;
	uint64_t time;
	uint32_t pid, tid, cpu;
	uint32_t parent_pid; /* of MAP_EVENT_FORK */
	uint64_t start, size, file_offset;
	uint64_t inode; /* valid where there is no build id */
	uint32_t device_major, device_minor;
	uint8_t build_id_size; /* 0: none */
	uint8_t build_id[20];
	uint64_t lost; /* of MAP_EVENT_LOST */
	uint64_t event_id; /* of MAP_EVENT_THROTTLED and MAP_EVENT_SAMPLED: PERF_EVENT_IOC_ID */
	const char *path; /* as the process sees it; valid during the callback only */
};

/*
 * What the kernel adds to every record of the mapping event, by its sample_type: pid, tid, time,
 * cpu, reserved. Sampling events that write here, too, have none: with each sample it would be made
 * in vain.
 */
#define MAP_EVENT_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define MAP_EVENT_SAMPLE_ID_SIZE 24

/*
 * A record, with its header, as struct map_event, which points into it; `time` stays what it is
 * where the record does not tell, and `cpu` does. False: nothing that concerns us, or malformed.
 */
bool map_event_parse(const void *record, size_t size, struct map_event *event);

#endif
