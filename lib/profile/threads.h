/* SPDX-License-Identifier: MIT */
/* Threads with their samples and markers, one flat list over all processes. */
#ifndef PROF_LIB_PROFILE_THREADS_H
#define PROF_LIB_PROFILE_THREADS_H

#include <stdbool.h>

#include "lib/base/vec.h"
#include "lib/profile/ids.h"
#include "lib/profile/markers.h"

#define NO_CPU UINT16_MAX

struct sample {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	stack_id stack; /* NO_STACK: nothing is known of it */
	uint32_t weight; /* ticks of the clock, or occurrences of the event */
	/* ns of CPU time since the thread's previous tick, saturated; 0 for other events. */
	uint32_t cpu_delta;
	uint16_t cpu; /* it was taken on, or NO_CPU */
	uint8_t event; /* 0: the clock; else a row of struct event_counts */
};

struct profile_thread {
	uint32_t pid, tid;
	uint32_t incarnation; /* 0: the first process of that pid, printed "123"; 1: "123.1" */
	string_id name;
	string_id process_name;
	string_id process_label; /* what tells it from others of that name, or NO_STRING */
	/*
	 * What the process was executed with last: its arguments, each terminated, the first of
	 * them the program; or NO_STRING.
	 */
	string_id arguments;
	uint64_t start, end; /* ns; end 0: still there when recording ended */
	uint64_t process_start, process_end; /* likewise */
	bool is_main; /* exactly one a process */
	/*
	 * Stands for several short-lived threads, as in files that have too many of them: its
	 * samples may use more CPU time than passed.
	 */
	bool is_folded;
	VEC(struct sample) samples; /* of the clock and of other events; ascending times */
	VEC(struct marker) markers;
};

struct threads {
	VEC(struct profile_thread) rows;
};

void threads_release(struct threads *t);
thread_id threads_add(struct threads *t, const struct profile_thread *thread);
struct profile_thread *threads_get(struct threads *t, thread_id id);

/* Puts it where its time belongs; mostly that is the end. */
void profile_thread_add_sample(struct profile_thread *row, const struct sample *sample);
/* The first sample that is younger than `time`. */
size_t profile_thread_sample_after(const struct profile_thread *row, uint64_t time);

/*
 * The kernel counts a thread's CPU time now and then, so a reading may be old, never new: what a
 * thread cannot have used since the tick before, it used before that one. From the last tick to
 * the first, that gives the least that is true, and never more than the time that passed. Samples
 * of other events stay as they are.
 */
void samples_settle_cpu_deltas(struct sample *samples, size_t count);

#endif
