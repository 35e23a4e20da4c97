/* SPDX-License-Identifier: MIT */
/* Threads and processes as the records so far tell of them. */
#ifndef PROF_LIB_RECORDING_PERF_DATA_PERF_TASKS_H
#define PROF_LIB_RECORDING_PERF_DATA_PERF_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/stream/process/mapping.h"

struct perf_task {
	uint32_t pid, tid;
	char name[REC_NAME_SIZE];
	bool is_alive;
	/* CPU time so far, ns; since on_ns, if not 0, it runs. */
	uint64_t cpu_ns, on_ns;
	uint64_t off_ns; /* it left the CPU then; 0: it runs, or that is not known */
	bool was_preempted;
	/* The stack that its last switch had as an event of its own. */
	uint64_t switch_ns;
	uint64_t switch_leaf;
	uint32_t switch_stack;
	uint8_t switch_flags;
};

struct perf_process {
	uint32_t pid;
	uint32_t alive; /* threads */
	uint64_t cgroup; /* id that was last told; 0: none */
	struct mapping_table *mappings; /* NULL: none yet */
	bool is_replaced; /* by an exec: the next mapping is the first of the new program */
	uint64_t ready_stamp; /* of the mappings whose unwind tables are there */
};

struct perf_tasks {
	VEC(struct perf_task) rows;
	VEC(struct perf_process) processes;
	struct index by_tid, by_pid;
	uint64_t last_stamp; /* of mappings */
};

void perf_tasks_release(struct perf_tasks *t);
/* Returns the thread, new ones alive. Valid until the next call. */
struct perf_task *perf_tasks_get(struct perf_tasks *t, uint32_t pid, uint32_t tid);
struct perf_process *perf_tasks_process(struct perf_tasks *t, uint32_t pid);
/* Begins a task that has the name of its parent, and a process's mappings. */
void perf_tasks_fork(struct perf_tasks *t, const struct rec_fork *fork);
/* Ends a task. Returns true if it was the last one of its process. */
bool perf_tasks_exit(struct perf_tasks *t, uint32_t pid, uint32_t tid);
/* Ends all threads but this one, which runs another program from its next mapping on. */
void perf_tasks_exec(struct perf_tasks *t, uint32_t pid, uint32_t tid);
/* Returns true if that mapping is now, and forgets those of the program before. */
bool perf_tasks_begin_space(struct perf_tasks *t, uint32_t pid);
void perf_tasks_map(struct perf_tasks *t, uint32_t pid, const struct mapping *mapping);

#endif
