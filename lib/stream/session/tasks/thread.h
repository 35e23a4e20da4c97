/* SPDX-License-Identifier: MIT */
/*
 * State of a thread besides its row in the profile. A thread has the same id in both tables, which
 * grow together.
 */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/model/tables/threads.h"
#include "lib/stream/session/tasks/process.h"

/* Pauses of the recording, and their effect on other intervals. */

struct pause {
	uint64_t start, end; /* CLOCK_MONOTONIC ns; end UINT64_MAX: not over yet */
};

/* A zeroed struct has no pauses. */
struct pauses {
	VEC(struct pause) rows; /* in order of time */
};

void pauses_release(struct pauses *p);
/* Begins or ends a pause. Returns false if that changes nothing. */
bool pauses_set(struct pauses *p, bool is_paused, uint64_t time);
bool pauses_are_on(const struct pauses *p);
/* Returns when recording last resumed; 0 if it never paused. */
uint64_t pauses_resumed(const struct pauses *p);
/* True if the interval lies within a single pause. */
bool pauses_hide(const struct pauses *p, uint64_t start, uint64_t end);
/* Ends the last pause, and adds all pauses to the profile. */
void pauses_finish(struct pauses *p, struct profile *profile, uint64_t end);

/*
 * The CPU time of a thread, from readings in its records. Until all records have arrived, rows hold
 * readings; then each row gets the CPU time used since the previous row.
 */

/* CPU time in units of 16 ns; it wraps around. */
struct cpu_reading {
	uint64_t time;
	uint32_t cpu;
};

/* A zeroed struct has no reading yet. */
struct cpu_clock {
	struct cpu_reading first, last; /* first and last reading by time */
	uint64_t used_ns; /* CPU time between the two readings */
	uint32_t base; /* base of the wire's values; they may continue another thread's */
	bool is_known;
	bool is_replaced; /* the next reading is the first of a different clock */
};

/* Notes that the thread began at `time`, with no CPU time. */
void cpu_clock_begin(struct cpu_clock *c, uint64_t time);
/* Takes the wire's CPU time at `time`. Returns the reading to keep in a row. */
uint32_t cpu_clock_read(struct cpu_clock *c, uint64_t time, uint32_t wire);

/* Names that a thread had before its last one, with the CPU time that it used meanwhile. */
struct former_names;

#define NO_WAIT UINT32_MAX

struct thread {
	process_id process;
	uint32_t tid;
	thread_id next; /* next thread in the process; NO_THREAD: none */
	struct cpu_clock cpu;
	struct former_names *names; /* NULL: it was never renamed */
	struct wait_rows *wait_rows; /* NULL: no wait has ended yet, see waits.h */
	uint32_t open_waits; /* first open wait in struct waits; NO_WAIT: none */
	uint64_t seen; /* time of the latest sign of life */
	uint16_t last_cpu; /* last CPU on which the thread was seen; NO_CPU: none */
	bool has_ended;
	bool has_given_name; /* by a runtime, after its own last one */
	uint8_t origin; /* enum task_origin */
};

struct thread_table {
	struct threads *profile;
	const struct pauses *pauses; /* pauses of the recording, borrowed */
	VEC(struct thread) rows;
	struct index by_tid; /* latest thread by process and tid */
};

/* `profile` must be empty. */
void thread_table_init(struct thread_table *t, struct threads *profile);
void thread_table_release(struct thread_table *t);
/* Returns the latest thread `tid` of the process, or NO_THREAD. */
thread_id thread_table_find(const struct thread_table *t, process_id process, uint32_t tid);
/* Adds a thread to processes->rows.items[process]; main if tid is the pid. */
thread_id thread_table_add(struct thread_table *t, struct process_table *processes,
			   process_id process, uint32_t tid, uint64_t start,
			   enum task_origin origin);
/* Ends the thread at `time`, or at its latest sign of life: the record of its end may be late. */
void thread_end(struct thread_table *t, thread_id id, uint64_t time);
/* Extends start and end of the thread to this time, at which it was alive. */
void thread_seen(struct thread_table *t, thread_id id, uint64_t time);

/* Notes that the thread, whose row has its name, is renamed now. */
void thread_leave_name(struct thread_table *t, thread_id id);

/*
 * Takes the wire's CPU time at `time`. Returns the value for cpu_delta of a sample until the end.
 */
uint32_t thread_read_cpu(struct thread_table *t, thread_id id, uint64_t time, uint32_t cpu_time);
/*
 * Computes the CPU time of samples, and names renamed threads as they were called for most of it.
 * Call once all samples have arrived.
 */
void thread_table_finish(struct thread_table *t);
void thread_add_marker(struct thread_table *t, thread_id id, const struct marker *marker);
