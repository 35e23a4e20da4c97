/* SPDX-License-Identifier: MIT */
/*
 * State of a thread besides its row in the profile. A thread has the same id in both tables, which
 * grow together.
 */
#ifndef PROF_LIB_SESSION_THREAD_H
#define PROF_LIB_SESSION_THREAD_H

#include <stdbool.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/profile/threads.h"
#include "lib/session/process.h"

struct thread {
	process_id process;
	uint32_t tid;
	thread_id next; /* next in the same process, NO_THREAD: last */
	uint32_t cpu_time; /* wire value of its last sample */
	bool has_cpu_time;
	bool has_ended;
	uint8_t origin; /* enum task_origin */
};

struct thread_table {
	struct threads *profile;
	VEC(struct thread) rows;
	struct index by_tid; /* latest thread of each (process, tid) */
};

/* `profile` must be empty. */
void thread_table_init(struct thread_table *t, struct threads *profile);
void thread_table_release(struct thread_table *t);
/* Returns the latest thread `tid` of the process, or NO_THREAD. */
thread_id thread_table_find(const struct thread_table *t, process_id process, uint32_t tid);
/* Adds a thread of processes->rows.items[process]; main if tid is the pid. */
thread_id thread_table_add(struct thread_table *t, struct process_table *processes,
			   process_id process, uint32_t tid, uint64_t start,
			   enum task_origin origin);
void thread_end(struct thread_table *t, thread_id id, uint64_t time);
/* Extends start and end of the thread to this time: it was alive then. */
void thread_seen(struct thread_table *t, thread_id id, uint64_t time);

/*
 * Returns the ns of CPU time since the thread's previous sample, from the wire's low 32 bits of ns
 * >> 4; 0 for the first sample and if the clock went back.
 */
uint32_t thread_cpu_delta(struct thread_table *t, thread_id id, uint32_t cpu_time);
/* Limits CPU time to the time that passed. Call once all samples are there. */
void thread_table_finish(struct thread_table *t);
/* Inserts the sample in order of time; nearly always at the end. */
void thread_add_sample(struct thread_table *t, thread_id id, const struct sample *sample);
/* Carries the CPU time of a missing sample: the next tick of the thread, if any, gets it. */
void thread_carry_cpu(struct thread_table *t, thread_id id, uint64_t time, uint32_t cpu_delta);
void thread_add_marker(struct thread_table *t, thread_id id, const struct marker *marker);

#endif
