/* SPDX-License-Identifier: MIT */
/*
 * Limits the rows of samples: front-ends hold a few millions. Of too many, first waits that follow
 * each other become one, then ticks with one stack within 100 ms. If they are still too many, one
 * stands for several, thread by thread: those of the clock and of each event weigh as much as
 * before, together and on average each stack, as if fewer had been taken. Kinds with few rows stay
 * as they are.
 */
#ifndef PROF_LIB_STREAM_SESSION_ROW_BOUNDS_H
#define PROF_LIB_STREAM_SESSION_ROW_BOUNDS_H

#include "lib/model/tables/profile.h"
#include "lib/stream/session/markers/marker_feed.h"
#include "lib/stream/session/sample_feed.h"

struct row_limits {
	uint64_t bytes; /* in a file, of rows and their stacks, about */
	uint64_t rows, stacks;
};

/* Limits of what a browser opens. */
#define ROW_LIMITS ((struct row_limits){190000000, 5000000, 1000000})

/* Rows of one event; event 0 is the clock, with the waits. */
struct row_kind {
	uint64_t rows; /* without those that stand for nothing */
	uint64_t left_out; /* were there, too */
	uint64_t step; /* weight that one row stands for at least; 0: all stay */
	uint64_t weight; /* the largest step so far */
	uint64_t passed; /* weight of the rows before */
};

struct row_bounds {
	struct profile *profile;
	struct row_limits limits;
	/* Drops stacks that are not needed; NULL: profile_drop_unused() of `profile`. */
	void (*drop_unused)(void *ctx);
	void *ctx;
	bool has_readings; /* the rows' cpu_delta is a reading, as in thread.h */
	uint64_t gaps; /* in which threads were off the CPU */
	struct row_kind kinds[EVENT_COUNTS_MAX];
};

/* The limits are ROW_LIMITS but in tests. */
void row_bounds_init(struct row_bounds *b, struct profile *p, struct row_limits limits);
/*
 * Leaves no more than the limits, at the end; says in the profile what has been merged and left
 * out, ever.
 */
void row_bounds_finish(struct row_bounds *b);

/*
 * Keeps the memory of a long recording within what its profile may hold: drops values of markers
 * that were left out, stacks and frames that nothing has any more, and rows of samples beyond their
 * limits.
 */

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
