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
	stack_id stack; /* NO_STACK: unknown */
	/*
	 * Ticks of the clock, or occurrences of the event; of a wait, ticks that it took. 0: it
	 * only says what CPU time was used, and has no stack.
	 */
	uint32_t weight;
	/* CPU time since the thread's previous row, ns, saturated; 0 for other events. */
	uint32_t cpu_delta;
	uint16_t cpu; /* it was taken on, or NO_CPU */
	uint8_t event; /* 0: the clock; else a row of struct event_counts */
};

struct profile_thread {
	uint32_t pid, tid;
	uint32_t incarnation; /* 0: first process with that pid, printed "123"; 1: "123.1" */
	string_id name;
	string_id process_name;
	string_id process_label; /* tells it from other processes of that name, or NO_STRING */
	/* Arguments of the last exec, each terminated, the program first; or NO_STRING. */
	string_id arguments;
	uint64_t start, end; /* CLOCK_MONOTONIC ns; end 0: alive when recording ended */
	uint64_t process_start, process_end; /* likewise */
	bool is_main; /* exactly one per process */
	/*
	 * Stands for several short-lived threads, in files with too many threads: its samples may
	 * use more CPU time than passed.
	 */
	bool is_folded;
	VEC(struct sample) samples; /* of all events; ascending times */
	VEC(struct marker) markers;
};

struct threads {
	VEC(struct profile_thread) rows;
};

void threads_release(struct threads *t);
thread_id threads_add(struct threads *t, const struct profile_thread *thread);
struct profile_thread *threads_get(struct threads *t, thread_id id);

/* Inserts in order of time, mostly at the end. */
void profile_thread_add_sample(struct profile_thread *row, const struct sample *sample);
/* Returns the index of the first sample later than `time`. */
size_t profile_thread_sample_after(const struct profile_thread *row, uint64_t time);

/*
 * Moves CPU time that a thread cannot have used since its previous tick to earlier ticks. The
 * kernel updates a thread's CPU time only now and then, so a reading may be old but never too new.
 * Working from the last tick to the first gives the least that is true and never more than the time
 * that passed. Samples of other events are not changed.
 */
void samples_settle_cpu_deltas(struct sample *samples, size_t count);

#endif
