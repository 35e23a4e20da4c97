/* SPDX-License-Identifier: MIT */
/* Converts a kernel record to prof's records. */
#pragma once

#include "bpf/record.h"
#include "lib/recording/perf_data/perf_attrs.h"
#include "lib/recording/perf_data/perf_file.h"
#include "lib/recording/perf_data/perf_modules.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/record/marker_record.h"

/* Threads and processes, as of the records read so far. */

struct perf_task {
	uint32_t pid, tid;
	char name[REC_NAME_SIZE];
	bool is_alive;
	/* CPU time so far, ns; on_ns: start of the current run, 0 if not running. */
	uint64_t cpu_ns, on_ns;
	uint64_t off_ns; /* time at which the thread left the CPU; 0: running, or unknown */
	bool was_preempted;
	/* Time and stack of the thread's last switch, from a switch event. */
	uint64_t switch_ns;
	uint64_t switch_leaf;
	uint32_t switch_stack;
	uint8_t switch_flags;
};

struct perf_process {
	uint32_t pid;
	uint32_t alive; /* number of live threads */
	uint64_t cgroup; /* last reported cgroup id; 0: none */
	struct mapping_table *mappings; /* NULL: no mapping yet */
	bool is_replaced; /* an exec happened: the next mapping is the first of the new program */
	uint64_t ready_stamp; /* stamp of the mappings with compiled unwind tables */
};

struct perf_tasks {
	VEC(struct perf_task) rows;
	VEC(struct perf_process) processes;
	struct index by_tid, by_pid;
	uint64_t last_stamp; /* latest stamp assigned to mappings */
};

void perf_tasks_release(struct perf_tasks *t);
/* Returns the thread, adding it alive if new. Valid until the next call. */
struct perf_task *perf_tasks_get(struct perf_tasks *t, uint32_t pid, uint32_t tid);
struct perf_process *perf_tasks_process(struct perf_tasks *t, uint32_t pid);
/* Adds a task with its parent's name; a new process also gets the parent's mappings. */
void perf_tasks_fork(struct perf_tasks *t, const struct rec_fork *fork);
/* Ends a task. Returns true if it was the last one of its process. */
bool perf_tasks_exit(struct perf_tasks *t, uint32_t pid, uint32_t tid);
/* Ends the process's other threads; the next mapping begins the new program. */
void perf_tasks_exec(struct perf_tasks *t, uint32_t pid, uint32_t tid);
/* True if this is the first mapping after an exec; then drops the old program's mappings. */
bool perf_tasks_begin_space(struct perf_tasks *t, uint32_t pid);
void perf_tasks_map(struct perf_tasks *t, uint32_t pid, const struct mapping *mapping);

/*
 * Deferred call chains: the kernel captures the user side of a sample when the thread returns to
 * user mode, and writes it as a separate record, for all samples since.
 */

/* Missing in the headers of older kernels. */
#define PERF_RECORD_CALLCHAIN_DEFERRED 22
/*
 * Marker in a chain: a cookie follows, and the chain of the record with that cookie belongs here.
 */
#define PERF_CONTEXT_USER_DEFERRED ((uint64_t)-640)

struct perf_deferred_row {
	uint32_t sample, record; /* rows of the file's store */
};

/* A zeroed struct is empty. */
struct perf_deferred {
	VEC(struct perf_deferred_row) rows; /* ascending by sample */
};

/* Finds the record of each sample that waits for one. */
void perf_deferred_find(struct perf_deferred *d, const struct perf_file *file);
/* Assigns a sample, by its row of the store, the chain of its record. */
void perf_deferred_set(const struct perf_deferred *d, const struct perf_file *file, size_t row,
		       struct perf_sample *sample);

/* Converts call chains and copied stacks of samples to stack records, each stack once. */

/* Maximum number of frames in a chain; perf's default is 127. */
#define PERF_DEPTH_MAX 8192

struct perf_walker;

struct perf_stacks {
	struct perf_out *out; /* borrowed */
	struct perf_walker *walker; /* NULL: there are no copied stacks */
	VEC(uint64_t) sent; /* hashes of stacks; the id of a stack is its index plus 1 */
	struct index by_hash;
	uint64_t *addrs; /* buffer of PERF_DEPTH_MAX */
	uint8_t *kinds;
};

/* A sample's leaf, and the stack without it. */
struct perf_place {
	uint64_t leaf;
	uint32_t stack;
	uint8_t flags; /* set of SAMPLE_LEAF_KERNEL, SAMPLE_NO_STACK and SAMPLE_NO_LEAF */
};

void perf_stacks_init(struct perf_stacks *s, struct perf_out *out);
void perf_stacks_release(struct perf_stacks *s);
/* Prepares to walk copied stacks. machine: e_machine of the recording; 0: this machine's. */
void perf_stacks_walk(struct perf_stacks *s, struct perf_modules *modules, uint16_t machine);
/*
 * Finds a sample's leaf and stack, and sends the stack if it is new. is_kernel: ip is in the
 * kernel.
 */
struct perf_place perf_stacks_place(struct perf_stacks *s, const struct perf_attr *attr,
				    const struct perf_sample *sample, bool is_kernel,
				    struct perf_tasks *tasks);
/* Likewise, for branch `number` of the sample, as described at PERF_BRANCHES. */
struct perf_place perf_stacks_branch(struct perf_stacks *s, const struct perf_sample *sample,
				     uint64_t number);

/* The last value of a counter in samples (PERF_SAMPLE_READ). */
struct perf_count {
	uint64_t id; /* id of the event on its CPU or thread */
	uint32_t tid; /* thread of the counter; 0: not per thread */
	uint64_t value;
};

/* A zeroed struct is empty. */
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
