/* SPDX-License-Identifier: MIT */
/* Converts a kernel record to prof's records. */
#pragma once

#include "lib/recording/perf_data/perf_deferred.h"
#include "lib/recording/perf_data/perf_file.h"
#include "lib/recording/perf_data/perf_modules.h"
#include "lib/recording/perf_data/perf_stacks.h"
#include "lib/recording/perf_data/perf_tasks.h"
#include "lib/stream/record/marker_record.h"

/* The last value of a counter in samples (PERF_SAMPLE_READ). */
struct perf_count {
	uint64_t id; /* id of the event on its CPU or thread */
	uint32_t tid; /* thread of the counter; 0: not per thread */
	uint64_t value;
};

/* Zeroed is empty. */
struct perf_counts {
	VEC(struct perf_count) rows;
	struct index by_id;
};

struct perf_tracepoint {
	uint32_t attr;
	struct tracepoint_format format;
};

struct perf_cgroup {
	uint64_t id;
	char *path; /* owned */
};

struct perf_convert {
	struct perf_file *file; /* borrowed */
	struct perf_out out;
	struct perf_tasks tasks;
	struct perf_modules modules;
	struct perf_stacks stacks;
	VEC(struct perf_tracepoint) tracepoints; /* indexed by schema number */
	struct perf_counts counts; /* counts of groups */
	struct perf_deferred deferred;
	VEC(struct perf_cgroup) cgroups;
	VEC(uint64_t) throttled; /* by CPU: time at which throttling began; 0: not throttled */
	uint64_t interval_ns; /* clock interval */
	uint64_t untimed; /* number of samples without a time so far */
	uint32_t branch_event; /* event of PERF_BRANCHES; 0: they are left out */
	bool has_switches;
};

void perf_convert_init(struct perf_convert *c, struct perf_file *file);
void perf_convert_release(struct perf_convert *c);
/* Sends the records that precede all others. */
void perf_convert_begin(struct perf_convert *c);
/* Converts a record of the store, in order. */
void perf_convert_record(struct perf_convert *c, size_t row);

/* The end of records other than samples. */
struct perf_trailer {
	uint32_t pid, tid, cpu;
	uint64_t id;
};

/* A record being converted. */
struct perf_input {
	struct perf_head head;
	struct ordered_bytes body; /* record body without the trailer */
	struct perf_trailer trailer;
	const struct perf_attr *attr;
	uint64_t time;
};
