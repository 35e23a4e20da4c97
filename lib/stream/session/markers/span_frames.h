/* SPDX-License-Identifier: MIT */
/*
 * Spans reported by programs: sets their ends, and adds their names as frames at the root of the
 * thread's stacks.
 *
 * A stack taken while spans of its thread were open has their names at its root, in the order in
 * which they were opened, regardless of the order of their ends: if two spans overlap, only the
 * later one remains after the first one ends. A span includes its start, but not its end. A span
 * that was never closed ends with its thread.
 */
#pragma once

#include "lib/model/tables/profile.h"

/* Call once all threads have their final times and samples. */
void span_frames_finish(struct profile *p);
