/* SPDX-License-Identifier: MIT */
/*
 * Markers about the recording itself. They go to the main thread of the root process, or to the
 * first thread if there is none.
 */
#pragma once

#include "lib/model/tables/profile.h"

/*
 * Runs of a command within one profile: one marker each, on the main thread of its first process.
 */

struct run_marker {
	uint64_t start, end; /* CLOCK_MONOTONIC ns, from before the exec to the end of the run */
	uint32_t iteration; /* counted from 1; the same for one run of each variant */
	string_id variant; /* NO_STRING if none */
	uint32_t variant_number; /* counted from 1, in command-line order */
	uint32_t status; /* exit status as in a shell */
	uint64_t cpu_ns; /* CPU time of the command and its waited-for descendants */
	uint32_t looks; /* number of checks that may find the runs sufficient; 1 or more */
	uint64_t seed; /* seed for the order of the variants; 0: no variants */
};

/* Returns true if the marker is of that kind. */
bool recorded_is(const struct profile *p, const struct marker *marker, enum marker_id kind);
/*
 * Returns the value of a field of a marker of that kind by its key, as files may order fields
 * differently; NULL if it has none of the field's type.
 */
const struct marker_value *recorded_value(const struct profile *p, const struct marker *marker,
					  enum marker_id kind, unsigned int field);

/* Adds a marker to a thread. The schema is added with the first one. */
void run_marker_add(struct profile *p, thread_id thread, const struct run_marker *run);
/* Returns false for other markers. Missing values are 0. */
bool run_marker_read(const struct profile *p, const struct marker *marker, struct run_marker *run);

/* A label of samples. Texts are borrowed. */
struct label_marker {
	const char *key, *unit;
	const char *text; /* NULL: the value is a number */
	int64_t number;
	uint32_t samples; /* number of samples that have it; 0: unknown */
};

/* Returns a marker with these values; its schema is NO_SCHEMA if there are too many of these. */
struct marker label_marker_make(struct profile *p, const struct label_marker *label, uint64_t start,
				uint64_t end);
/* Labels the samples of a thread in [start, end). */
void label_marker_add(struct profile *p, thread_id thread, const struct label_marker *label,
		      uint64_t start, uint64_t end);

/* Marks the end of a recording that was cut off. */
void cut_marker_add(struct profile *p, uint64_t time);
/* Marks a pause, requested by the user, in which nothing was recorded. */
void pause_marker_add(struct profile *p, uint64_t start, uint64_t end);

/* Finds the labels of each sample of a thread, in order of time. */

/* Maximum labels of one sample. The rest is left out. */
#define SAMPLE_LABELS_MAX 64

/* A label of the samples before `end`. Texts are borrowed of the profile. */
struct timed_label {
	uint64_t end;
	struct label_marker label;
};

/* The labels of one thread, by start; `current`: those of the current samples. Zeroed at first. */
struct sample_labels {
	const struct profile *profile;
	VEC(const struct marker *) rows;
	size_t next;
	VEC(struct timed_label) current;
	uint32_t set; /* the caller's number for `current`; UINT32_MAX: they have changed */
};

/* Begins with another thread. Borrows both until the next call. */
void sample_labels_find(struct sample_labels *labels, const struct profile *p,
			const struct profile_thread *thread);
/* Advances to a time that is not before the last one. */
void sample_labels_pass(struct sample_labels *labels, uint64_t time);
/* Returns the current label of that key; NULL: none. */
const struct label_marker *sample_labels_get(const struct sample_labels *labels, const char *key);
void sample_labels_release(struct sample_labels *labels);
