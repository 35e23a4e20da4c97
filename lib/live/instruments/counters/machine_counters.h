/* SPDX-License-Identifier: MIT */
/* Counters of the machine and of files, sent when they change. */
#pragma once

#include "bpf/record.h"
#include "lib/model/facts/facts.h"
#include "lib/stream/record/records.h"

/* Sends counter records, only when values change; a flat stretch keeps its two ends. */

/* A zeroed struct is a counter without a value yet. */
struct sent_counter {
	uint32_t id;
	int64_t sent;
	bool is_known; /* the first value has been sent */
	bool is_flat; /* the last reading found no change */
	uint64_t row_ns; /* time of the last row; 0: no row yet */
};

struct counter_values {
	record_sink_fn *sink;
	void *ctx;
	uint32_t last_id;
	uint64_t last_ns; /* time of the previous reading */
	bool is_resuming; /* recording resumes: increases during the pause are ignored */
};

/*
 * Sends the value at the time `now` of the counter of a process, or of the machine for pid 0. A
 * rate counts from its first value, which accrued earlier, and never falls. Counters keep the order
 * in which they are first sent.
 */
void counter_values_send(struct counter_values *t, struct sent_counter *counter,
			 const struct counter_schema *schema, uint32_t pid, int64_t value,
			 uint64_t now);

/*
 * Counters of the whole machine, from files of the kernel: CPU time by class, memory, network
 * bytes, energy; also the throttled time of a control group.
 */

/* Counters from files named by the user: NAME=FILE[:KEY][,rate|level][,UNIT]. */

#define FILE_COUNTERS_MAX 32

struct file_counter_settings {
	const char *values[FILE_COUNTERS_MAX]; /* borrowed */
	size_t count;
};

/* Checks and adds the value of an option. Returns 0, or -EINVAL with err. */
int file_counter_add(struct file_counter_settings *s, const char *value, struct error *err);

struct file_counter {
	char *name, *path, *key, *unit; /* key NULL: the first number in the file */
	enum counter_graph graph;
	int fd;
	struct sent_counter counter;
};

/* A zeroed struct is empty. */
struct file_counters {
	struct file_counter rows[FILE_COUNTERS_MAX];
	size_t count;
	uint64_t missing; /* number of unreadable values */
};

/*
 * Opens the files as the invoking user, who also reads them. Returns 0, or a negative errno with
 * err if one cannot be opened or has no such number.
 */
int file_counters_open(struct file_counters *f, const struct file_counter_settings *settings,
		       struct error *err);
void file_counters_close(struct file_counters *f);
void file_counters_read(struct file_counters *f, struct counter_values *t, uint64_t now);

struct machine_counters;

/* Opens the existing ones. The control group is that of the calling process. */
struct machine_counters *machine_counters_open(void);
/* Accepts NULL. */
void machine_counters_free(struct machine_counters *m);
void machine_counters_read(struct machine_counters *m, struct counter_values *t, uint64_t now);
