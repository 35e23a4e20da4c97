/* SPDX-License-Identifier: MIT */
/* Makes markers of a path's parts, in which profiles contain it. */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/path/path_walk.h"
#include "lib/path/thread_timelines.h"

/* Adds a marker for each part to the row of its thread. */
void path_markers_add(struct profile *p, const struct timelines *t, const struct path *path);
/* Adds the steps' names to the markers, once threads have titles: see path_steps(). */
void path_markers_name_steps(struct profile *p);
/*
 * Replaces the command's path by those of the markers whose name matches the glob, each from its
 * start to its end, and removes the predictions. Fails if there is no such marker.
 */
int path_markers_set_spans(struct profile *p, const struct timelines *t, const char *glob,
			   struct error *err);

/* Makes markers of the hand-overs of a path: where it leads from a waker to whom it woke. */

/* Most hand-overs with a marker: those after the longest waits. */
#define HAND_OVERS_MAX 1000u

/*
 * Adds a marker for each to the row of the woken thread, with the stacks of both: that of the wait,
 * and that in which the waker was, or was sampled shortly before. Call once the path has markers.
 * Does nothing if the path consists of sums.
 */
void path_hand_overs_add(struct profile *p, const struct timelines *t);
