/* SPDX-License-Identifier: MIT */
/* Finds the labels of each sample of a thread, in order of time. */
#pragma once

#include "lib/model/meaning/recording_markers.h"

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
