/* SPDX-License-Identifier: MIT */
/*
 * Limits the rows of samples: front-ends hold a few millions. First merges consecutive waits, then
 * ticks with the same stack within 100 ms. If rows are still too many, thins them thread by thread:
 * one row represents several. The total weight of the clock and of each event stays the same, and
 * that of each stack on average, as if fewer samples had been taken. Kinds with few rows stay as
 * they are.
 */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/stream/session/markers/marker_feed.h"
#include "lib/stream/session/sample_feed.h"

struct row_limits {
	uint64_t bytes; /* approximate bytes of rows and stacks in a file */
	uint64_t rows, stacks;
};

/* Limits of the data that a browser can open. */
#define ROW_LIMITS ((struct row_limits){190000000, 5000000, 1000000})

/* Rows of one event; event 0 is the clock, including waits. */
struct row_kind {
	uint64_t rows; /* rows of nonzero weight */
	uint64_t left_out; /* rows dropped so far */
	uint64_t step; /* minimum weight of a row; 0: all rows stay */
	uint64_t weight; /* maximum of `step` so far */
	uint64_t passed; /* total weight of the preceding rows */
};

struct row_bounds {
	struct profile *profile;
	struct row_limits limits;
	/* Drops unneeded stacks; NULL: profile_drop_unused() of `profile`. */
	void (*drop_unused)(void *ctx);
	void *ctx;
	bool has_readings; /* cpu_delta of the rows is a reading, as in thread.h */
	uint64_t gaps; /* gaps in which threads were off the CPU */
	struct row_kind kinds[EVENT_COUNTS_MAX];
};

/* The limits are ROW_LIMITS except in tests. */
void row_bounds_init(struct row_bounds *b, struct profile *p, struct row_limits limits);
/* Applies the limits at the end. Adds the totals of merged and dropped rows to the profile. */
void row_bounds_finish(struct row_bounds *b);

/*
 * Limits the memory of a long recording: drops values of omitted markers, unused stacks and frames,
 * and sample rows beyond their limits.
 */

struct reclaim {
	struct profile *profile;
	struct sample_feed *samples;
	struct marker_feed *markers;
	struct row_bounds bounds;
	/* Sizes of the tables at which to check next. */
	size_t values_next, stacks_next;
	uint32_t records; /* records since rows were last counted */
	bool is_off; /* the number of rows is unlimited */
	bool keeps_stacks; /* the caller refers to stacks by id and takes the rows */
	/* Called a few times a second while a thread reclaims memory; NULL: no thread is used. */
	void (*meanwhile)(void *ctx);
	void *ctx;
};

/* The limits are ROW_LIMITS except in tests. */
void reclaim_init(struct reclaim *r, struct sample_feed *samples, struct marker_feed *markers,
		  struct row_limits limits);
/* Reclaims memory if tables have grown. Call it between records. */
void reclaim_step(struct reclaim *r);
/* Limits the rows at the end. The feeds may be gone. */
void reclaim_finish(struct reclaim *r);
