/* SPDX-License-Identifier: MIT */
/* One record of the kernel → records of ours. */
#ifndef PROF_LIB_RECORDING_PERF_DATA_PERF_CONVERT_H
#define PROF_LIB_RECORDING_PERF_DATA_PERF_CONVERT_H

#include "lib/recording/perf_data/perf_counts.h"
#include "lib/recording/perf_data/perf_file.h"
#include "lib/recording/perf_data/perf_modules.h"
#include "lib/recording/perf_data/perf_out.h"
#include "lib/recording/perf_data/perf_stacks.h"
#include "lib/recording/perf_data/perf_tasks.h"
#include "lib/recording/perf_data/perf_tracepoints.h"

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
	struct perf_tracepoints tracepoints;
	struct perf_counts counts; /* of groups */
	VEC(struct perf_cgroup) cgroups;
	VEC(uint64_t) throttled; /* by CPU: since when; 0: it is not */
	uint64_t interval_ns; /* of the clock */
	uint64_t untimed; /* samples without a time so far */
	bool has_switches;
};

void perf_convert_init(struct perf_convert *c, struct perf_file *file);
void perf_convert_release(struct perf_convert *c);
/* Sends what is to come before all records. */
void perf_convert_begin(struct perf_convert *c);
void perf_convert_record(struct perf_convert *c, const void *record, uint64_t time);

/* The end of records other than samples. */
struct perf_trailer {
	uint32_t pid, tid, cpu;
	uint64_t id;
};

/* A record that is being converted. */
struct perf_input {
	struct perf_head head;
	struct ordered_bytes body; /* without the trailer */
	struct perf_trailer trailer;
	const struct perf_attr *attr;
	uint64_t time;
};

/* Takes mappings, lives of tasks and control groups. False for any other record. */
bool perf_convert_task(struct perf_convert *c, struct perf_input *in);
/* Takes losses, throttling and context switches. False for any other record. */
bool perf_convert_event(struct perf_convert *c, struct perf_input *in);
void perf_convert_sample(struct perf_convert *c, const struct perf_attr *attr,
			 struct perf_sample *sample, uint16_t misc);
/* Fills in the place of a sample, and its CPU. */
void perf_convert_fill(struct rec_sample *rec, const struct perf_sample *sample,
		       const struct perf_place *place);
/* Takes a wait that ended. */
void perf_convert_wait(struct perf_convert *c, const struct perf_sample *sample,
		       const struct perf_place *place);
/* CPU time of a thread at a time, in the unit of struct rec_sample. */
uint32_t perf_convert_cpu_time(const struct perf_task *task, uint64_t time);

#endif
