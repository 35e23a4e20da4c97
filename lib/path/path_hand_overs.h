/* SPDX-License-Identifier: MIT */
/* Makes markers of the hand-overs of a path: where it leads from a waker to whom it woke. */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/path/thread_timelines.h"

/* Most hand-overs with a marker: those after the longest waits. */
#define HAND_OVERS_MAX 1000u

/*
 * Adds a marker for each to the row of the woken thread, with the stacks of both: that of the wait,
 * and that in which the waker was, or was sampled shortly before. Call once the path has markers.
 * Does nothing if the path consists of sums.
 */
void path_hand_overs_add(struct profile *p, const struct timelines *t);
