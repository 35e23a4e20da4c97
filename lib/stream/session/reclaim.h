/* SPDX-License-Identifier: MIT */
/*
 * Keeps the memory of a long recording within what its profile may hold: drops values of markers
 * that were left out, stacks and frames that nothing has any more, and rows of samples beyond their
 * limits.
 */
#ifndef PROF_LIB_STREAM_SESSION_RECLAIM_H
#define PROF_LIB_STREAM_SESSION_RECLAIM_H

#include "lib/stream/session/markers/marker_feed.h"
#include "lib/stream/session/row_bounds.h"
#include "lib/stream/session/sample_feed.h"

struct reclaim {
	struct profile *profile;
	struct sample_feed *samples;
	struct marker_feed *markers;
	struct row_bounds bounds;
	/* Sizes of tables at which to look next. */
	size_t values_next, stacks_next;
	uint32_t records; /* since rows were counted */
	bool is_off; /* rows have no limits */
	bool keeps_stacks; /* somebody else has numbers of stacks, and takes the rows */
	/* Called some times a second while memory is looked through, in a thread; NULL: in none. */
	void (*meanwhile)(void *ctx);
	void *ctx;
};

/* The limits are ROW_LIMITS but in tests. */
void reclaim_init(struct reclaim *r, struct sample_feed *samples, struct marker_feed *markers,
		  struct row_limits limits);
/* Looks for what can go if tables have grown. Call it between records. */
void reclaim_step(struct reclaim *r);
/* Limits the rows at the end. The feeds may be gone. */
void reclaim_finish(struct reclaim *r);

#endif
