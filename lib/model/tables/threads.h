/* SPDX-License-Identifier: MIT */
/* Threads with their samples and markers, one flat list over all processes. */
#ifndef PROF_LIB_MODEL_TABLES_THREADS_H
#define PROF_LIB_MODEL_TABLES_THREADS_H

#include <stdbool.h>

#include "lib/base/vec.h"
#include "lib/model/tables/ids.h"
#include "lib/model/tables/markers.h"
#include "lib/model/tables/samples.h"

/* A sample of the memory that a process allocated, and until when it had it. */

struct allocation {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	uint64_t freed; /* likewise; 0: held when recording ended */
	uint64_t bytes; /* of allocations that it stands for */
	stack_id stack; /* of the allocation; NO_STACK: unknown */
	uint32_t tid; /* of the thread that allocated */
};

/* Zeroed is empty. */
struct allocations {
	VEC(struct allocation) rows; /* ascending times */
};

/* A change of what is held: an allocation, or its end. */
struct allocation_event {
	uint64_t time;
	uint32_t row; /* the number that tells blocks apart */
	bool is_free;
};

struct allocation_events {
	VEC(struct allocation_event) rows;
};

/* Lists all changes in order of time. The caller releases `rows`. */
void allocations_list(const struct allocations *a, struct allocation_events *events);

enum allocation_sum { ALLOCATED, RETAINED, DEALLOCATED, ALLOCATION_SUM_COUNT };

/* "allocated", "retained", "deallocated": how they are asked for. */
extern const char *const allocation_sum_names[ALLOCATION_SUM_COUNT];
/* Returns the bytes that a row adds to a sum, 0: none. */
uint64_t allocation_bytes(const struct allocation *row, enum allocation_sum sum);

struct profile_thread {
	uint32_t pid, tid;
	uint32_t incarnation; /* 0: first process with that pid, printed "123"; 1: "123.1" */
	string_id name;
	string_id process_name;
	string_id process_label; /* distinguishes it from other processes of that name, or NO_STRING
				  */
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
	struct samples samples; /* of all events */
	VEC(struct marker) markers;
	struct allocations allocations; /* of the whole process, with its main thread */
};

struct threads {
	VEC(struct profile_thread) rows;
};

void threads_release(struct threads *t);
thread_id threads_add(struct threads *t, const struct profile_thread *thread);
struct profile_thread *threads_get(struct threads *t, thread_id id);
/* Drops all others: is_kept has a place for each. Ids of those that stay change. */
void threads_keep(struct threads *t, const bool *is_kept);

#endif
