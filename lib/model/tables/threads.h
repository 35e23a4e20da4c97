/* SPDX-License-Identifier: MIT */
/* Threads with their samples and markers, one flat list over all processes. */
#ifndef PROF_LIB_MODEL_TABLES_THREADS_H
#define PROF_LIB_MODEL_TABLES_THREADS_H

#include <stdbool.h>

#include "lib/base/vec.h"
#include "lib/model/tables/allocations.h"
#include "lib/model/tables/ids.h"
#include "lib/model/tables/markers.h"
#include "lib/model/tables/samples.h"

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
