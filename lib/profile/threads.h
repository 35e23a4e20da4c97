/* SPDX-License-Identifier: MIT */
/* Threads with their samples and markers, one flat list over all processes. */
#ifndef PROF_LIB_PROFILE_THREADS_H
#define PROF_LIB_PROFILE_THREADS_H

#include <stdbool.h>

#include "lib/base/vec.h"
#include "lib/profile/ids.h"

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

enum marker_kind {
	MARKER_EXEC, /* name: the new program's */
	MARKER_RENAME, /* name: the thread's new one */
	MARKER_CGROUP, /* name: the path of the process's control group */
	MARKER_LOST, /* value: samples lost around then; name: the cause */
	MARKER_LOST_EVENTS, /* likewise: events about processes or mappings */
	/* The kernel did not sample on that CPU; value: how often it stopped; name: which event. */
	MARKER_THROTTLED,
	MARKER_KIND_COUNT,
};

struct marker {
	uint64_t start, end; /* CLOCK_MONOTONIC ns; equal: an instant */
	uint64_t value;
	string_id name;
	/* Of an exec, or NO_STRING: the command line as in struct profile_thread; the folder. */
	string_id arguments, folder;
	uint16_t cpu; /* of losses */
	uint8_t kind; /* enum marker_kind */
};

/* Of rows that are folded, beside that of the process. */
#define FOLDED_INCARNATION (1u << 31)

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
	/* 0: a thread. Else a row for its samples of that other event, and `owner` is the thread.
	 */
	uint32_t event;
	thread_id owner;
	bool is_main; /* exactly one a process */
	/*
	 * A row with the samples of CPU `tid`, each of which is that of a thread, too; all of them
	 * are one process, which has no pid and no main thread.
	 */
	bool is_cpu;
	/*
	 * A row that short-lived threads share; see fold.h. Its pid is that of the first of them,
	 * with an incarnation that no process has. Its samples may use more CPU time than passed.
	 */
	bool is_folded;
	uint64_t cpu_ns; /* sum of the samples' deltas */
	uint64_t process_cpu_ns; /* the same of all threads of the process */
	VEC(struct sample) samples; /* ascending times */
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
 * The order in which a profile lists them: the first process with pid `root` (0: none), then
 * processes by start, in each the main thread first, then by start; of those that were all there
 * when recording began, the ones with the most CPU time first. What other events have of a thread
 * is right behind it; rows of CPUs come last, by number. `order` has room for rows.count ids.
 */
void threads_order(const struct threads *t, uint32_t root, thread_id *order);
/*
 * Positions in that order of the `max` threads with the most CPU time, busiest first, those
 * without samples and rows of CPUs left out; returns how many.
 */
size_t threads_busiest(const struct threads *t, const thread_id *order, uint32_t *positions,
		       size_t max);

#endif
