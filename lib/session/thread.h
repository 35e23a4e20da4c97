/* SPDX-License-Identifier: MIT */
/*
 * What a session knows of a thread besides its row in the profile. Both tables grow together: a
 * thread has the same id in either.
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
	thread_id next; /* of the same process, NO_THREAD: the last */
	uint32_t cpu_time; /* of its last sample, as on the wire */
	bool has_cpu_time;
	bool has_ended;
	uint8_t origin; /* enum task_origin */
};

struct thread_table {
	struct threads *profile;
	VEC(struct thread) rows;
	struct index by_tid; /* the latest of each (process, tid) */
};

/* `profile` must be empty. */
void thread_table_init(struct thread_table *t, struct threads *profile);
void thread_table_release(struct thread_table *t);
/* The latest thread `tid` of the process, or NO_THREAD. */
thread_id thread_table_find(const struct thread_table *t, process_id process, uint32_t tid);
/* A new thread of processes->rows.items[process], main where tid is the pid. */
thread_id thread_table_add(struct thread_table *t, struct process_table *processes,
			   process_id process, uint32_t tid, uint64_t start,
			   enum task_origin origin);
void thread_end(struct thread_table *t, thread_id id, uint64_t time);
/* It was alive then, whatever was said before about its start and end. */
void thread_seen(struct thread_table *t, thread_id id, uint64_t time);

/*
 * ns of CPU time since the thread's previous sample, from the wire's low 32 bits of ns >> 4; 0 for
 * the first one and where the clock went back.
 */
uint32_t thread_cpu_delta(struct thread_table *t, thread_id id, uint32_t cpu_time);
/* Once all samples are there: no thread has used more CPU time than passed. */
void thread_table_finish(struct thread_table *t);
/* Puts it where its time belongs; mostly that is the end. */
void thread_add_sample(struct thread_table *t, thread_id id, const struct sample *sample);
/* CPU time of a sample that is missing at that time: the next tick, if any, has it as well. */
void thread_carry_cpu(struct thread_table *t, thread_id id, uint64_t time, uint32_t cpu_delta);
void thread_add_marker(struct thread_table *t, thread_id id, const struct marker *marker);

#endif
