/* SPDX-License-Identifier: MIT */
/*
 * Limits the number of markers: front-ends cannot show millions. Of the kinds with too many, the
 * shortest are left out, and a marker has their number. Among equally short ones chance decides.
 * Markers of losses stay, and so do kinds with few.
 */
#ifndef PROF_LIB_STREAM_SESSION_MARKERS_MARKER_BOUNDS_H
#define PROF_LIB_STREAM_SESSION_MARKERS_MARKER_BOUNDS_H

#include "lib/model/tables/profile.h"

#define MARKERS_PER_THREAD 20000u
#define MARKERS_MAX 200000u

struct marker_bounds {
	VEC(uint64_t) left_out; /* by thread */
	VEC(uint64_t) floors; /* by schema: ranks below have gone, and will */
	uint64_t added; /* since the last limit of all */
	/* By limits: their values are in the profile's table still. Reset by who takes them out. */
	uint64_t dropped;
	bool is_off; /* all stay */
};

void marker_bounds_release(struct marker_bounds *b);
/*
 * False if the next limit would take a marker of that thread away at once. It is counted as left
 * out, and nothing of it need be stored.
 */
bool marker_bounds_admit(struct marker_bounds *b, thread_id thread, const struct marker *marker);
/* Call it after a marker was added to the thread. */
void marker_bounds_added(struct marker_bounds *b, struct profile *p, thread_id thread);
/* Limits all markers: many may have been added in other ways. */
void marker_bounds_limit(struct marker_bounds *b, struct profile *p);
/*
 * Call it at the end, while thread ids are still valid. True: `others` covers threads without a
 * marker of their own.
 */
bool marker_bounds_finish(struct marker_bounds *b, struct profile *p, struct marker *others);

#endif
