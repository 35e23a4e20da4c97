/* SPDX-License-Identifier: MIT */
/*
 * Finds the critical path of a command, backwards from its end: along the running thread, from a
 * woken thread to its waker at the moment of the wake-up, and from a new thread to its parent. The
 * parts follow one another without gaps, so their times add up to the command's wall time.
 */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/path/path_weights.h"
#include "lib/path/thread_timelines.h"

/* A part of the path, or the sum of several similar ones between its start and end. */
struct path_part {
	uint64_t start, end;
	uint64_t time; /* ns on the path; end - start unless it is a sum */
	thread_id thread;
	thread_id waker; /* PATH_QUEUED, PATH_WAKING and PATH_WAITS with END_THREAD */
	uint8_t kind; /* enum path_kind */
	uint8_t ended_by; /* enum wait_end, for the same kinds */
	/*
	 * PATH_RUNS: the thread is assumed to have held a lock for which another one waited until a
	 * timer ended the wait.
	 */
	bool is_inferred;
	struct wait_reason reason; /* PATH_WAITS */
};

/* Most parts of a path that becomes markers. */
#define PATH_PARTS_MAX 20000u

struct path {
	VEC(struct path_part) parts; /* in order of time */
	uint64_t begin, end;
	uint64_t hand_overs; /* changes from thread to thread */
	uint64_t inferred_ns;
};

/*
 * The caller releases path->parts. `end`: end of the recording, for commands still running then.
 * A path with more than `parts_max` parts is summed up in windows. Empty if no command began.
 */
void path_walk(const struct timelines *t, uint64_t end, size_t parts_max, struct path *path);
/*
 * Finds what a thread's time from `begin` to `end` was spent on. Wakers are followed only back to
 * the beginning of the wait that they ended: what they did before is not part of the span. The
 * caller releases path->parts.
 */
void path_walk_span(const struct timelines *t, thread_id thread, uint64_t begin, uint64_t end,
		    size_t parts_max, struct path *path);

/* Makes markers of a path's parts, in which profiles contain it. */

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
