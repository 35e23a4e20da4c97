/* SPDX-License-Identifier: MIT */
/* Makes markers of a path's parts, in which profiles contain it. */
#pragma once

#include "lib/base/error.h"
#include "lib/model/tables/profile.h"
#include "lib/path/path_walk.h"

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
