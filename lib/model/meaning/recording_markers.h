/* SPDX-License-Identifier: MIT */
/*
 * Markers about the recording itself. They go to the main thread of the root process, else to the
 * first thread.
 */
#ifndef PROF_LIB_MODEL_MEANING_RECORDING_MARKERS_H
#define PROF_LIB_MODEL_MEANING_RECORDING_MARKERS_H

#include <stdbool.h>

#include "lib/model/tables/profile.h"

/* Runs of a command within one profile: a marker each, on the main thread of its first process. */

struct run_marker {
	uint64_t start, end; /* CLOCK_MONOTONIC ns, from before its exec to its end */
	uint32_t iteration; /* from 1 on; of each variant there is a run with that number */
	string_id variant; /* NO_STRING if none */
	uint32_t variant_number; /* from 1 on, in the order in which they were given */
	uint32_t status; /* of its exit, as a shell has it */
	uint64_t cpu_ns; /* of the command and of those descendants that were waited for */
	uint32_t looks; /* number of times that may decide whether the runs are enough; 1 or more */
	uint64_t seed; /* of the order of the variants; 0: they have none */
};

/* Adds a marker to a thread. The schema is added with the first one. */
void run_marker_add(struct profile *p, thread_id thread, const struct run_marker *run);
/* Returns false for other markers. Missing values are 0. */
bool run_marker_read(const struct profile *p, const struct marker *marker, struct run_marker *run);

/* Marks the end of a recording that did not end by itself. */
void cut_marker_add(struct profile *p, uint64_t time);
/* Marks a time in which nothing was recorded, because somebody wanted that. */
void pause_marker_add(struct profile *p, uint64_t start, uint64_t end);

#endif
