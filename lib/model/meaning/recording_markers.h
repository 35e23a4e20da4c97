/* SPDX-License-Identifier: MIT */
/*
 * Markers about the recording itself. They go to the main thread of the root process, else to the
 * first thread.
 */
#ifndef PROF_LIB_MODEL_MEANING_RECORDING_MARKERS_H
#define PROF_LIB_MODEL_MEANING_RECORDING_MARKERS_H

#include "lib/model/tables/profile.h"

/* Marks the end of a recording that did not end by itself. */
void cut_marker_add(struct profile *p, uint64_t time);
/* Marks a time in which nothing was recorded, because somebody wanted that. */
void pause_marker_add(struct profile *p, uint64_t start, uint64_t end);

#endif
