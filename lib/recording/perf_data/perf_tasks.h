/* SPDX-License-Identifier: MIT */
/* Threads and processes, as of the records read so far. */
#pragma once

#include "bpf/record.h"
#include "lib/stream/process/mapping.h"

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
