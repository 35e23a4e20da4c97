/* SPDX-License-Identifier: MIT */
/* Threads with their samples and markers, one flat list over all processes. */
#pragma once

#include "lib/model/tables/ids.h"
#include "lib/model/tables/markers.h"
#include "lib/model/tables/samples.h"

/* The kernel truncates names of threads and processes to this many bytes. */
#define KERNEL_NAME_MAX 15

/* A sampled allocation of a process, and the time of its free. */

struct allocation {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	uint64_t freed; /* CLOCK_MONOTONIC ns; 0: still held when the recording ended */
	uint64_t bytes; /* bytes of all allocations represented by this one */
	stack_id stack; /* stack of the allocation; NO_STACK: unknown */
	uint32_t tid; /* thread that allocated the block */
};

/* A zeroed struct is empty. */
struct allocations {
	VEC(struct allocation) rows; /* in ascending order of time */
};

/* A change of the memory held: an allocation, or its free. */
struct allocation_event {
	uint64_t time;
	uint32_t row; /* number identifying the block */
	bool is_free;
};

struct allocation_events {
	VEC(struct allocation_event) rows;
};

/* Lists all changes in order of time. The caller releases `rows`. */
void allocations_list(const struct allocations *a, struct allocation_events *events);

enum allocation_sum { ALLOCATED, RETAINED, DEALLOCATED, ALLOCATION_SUM_COUNT };

/* Names on the command line: "allocated", "retained", "deallocated". */
extern const char *const allocation_sum_names[ALLOCATION_SUM_COUNT];
/* Returns the bytes that a row adds to a sum; 0 if none. */
uint64_t allocation_bytes(const struct allocation *row, enum allocation_sum sum);

struct profile_thread {
	uint32_t pid, tid;
	uint32_t incarnation; /* 0: first process with that pid, printed "123"; 1: "123.1" */
	string_id name;
	string_id process_name;
	string_id process_label; /* distinguishes processes of the same name; NO_STRING: none */
	/* Terminated arguments of the last exec, beginning with the program; or NO_STRING. */
	string_id arguments;
	uint64_t start, end; /* CLOCK_MONOTONIC ns; end 0: alive when the recording ended */
	uint64_t process_start, process_end; /* the same for the process */
	bool is_main; /* set for exactly one thread of a process */
	/*
	 * Merged row of several short-lived threads, in files with too many threads: its samples
	 * may have more CPU time than has elapsed.
	 */
	bool is_folded;
	struct samples samples; /* samples of all events */
	VEC(struct marker) markers;
	/* Allocations of the whole process, stored with the main thread. */
	struct allocations allocations;
};

struct threads {
	VEC(struct profile_thread) rows;
};

void threads_release(struct threads *t);
thread_id threads_add(struct threads *t, const struct profile_thread *thread);
struct profile_thread *threads_get(struct threads *t, thread_id id);
/*
 * Drops all threads except those marked in is_kept, an array indexed by thread. The ids of the
 * remaining threads change.
 */
void threads_keep(struct threads *t, const bool *is_kept);
