/* SPDX-License-Identifier: MIT */
/*
 * Spans that programs report: their ends, and their names as frames at the root of the thread's
 * stacks.
 *
 * A stack that was taken while spans of its thread were open has their names at its root, the one
 * that was opened first outermost, whatever the order of their ends: of two that cross, the later
 * one stays alone. A span that was opened at the moment of a sample has it; one that ended then has
 * not. One that was never closed ends with its thread.
 */
#ifndef PROF_LIB_STREAM_SESSION_MARKERS_SPAN_FRAMES_H
#define PROF_LIB_STREAM_SESSION_MARKERS_SPAN_FRAMES_H

#include "lib/model/tables/profile.h"

/* Call it when all threads have their final times and samples. */
void span_frames_finish(struct profile *p);

#endif
