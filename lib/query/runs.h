/* SPDX-License-Identifier: MIT */
/* Runs in profiles, and the runs of two sides joined in one profile. */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/query/select.h"
#include "lib/query/statistics.h"

/* The runs in profiles: delimited by markers, or a whole profile as one run. */

/* Bounds the work, which a file could otherwise make far larger than its own size. */
#define QUERY_RUNS_MAX 2000

struct query_run {
	const struct profile *profile; /* borrowed */
	uint64_t from, until; /* ns since the profile's start */
	uint64_t began_ns; /* ns since the Unix epoch; 0: unknown */
	uint64_t wall_ns;
	string_id variant; /* string of the profile; NO_STRING: no variant */
	uint32_t variant_number; /* position among the variants on the command line */
	uint32_t iteration; /* 0: the whole profile */
	uint32_t status; /* exit status; 0 for a whole profile */
	uint32_t looks; /* see recording_markers.h */
};

struct query_runs {
	VEC(struct query_run) rows; /* in order of start */
};

/* Appends the runs of a profile. Returns -E2BIG if there are too many. */
int query_runs_find(struct query_runs *r, const struct profile *p, struct error *err);
/*
 * Distributes the runs of two variants of a profile: runs of the first given variant, or of `base`,
 * go to `a`; runs of the only other variant, or of `other`, to `b`. Drops an unfinished iteration.
 * Returns -ENODATA if there are no such variants.
 */
int query_runs_split(struct query_runs *r, const char *base, const char *other,
		     struct query_runs *a, struct query_runs *b, struct error *err);
/* Drops runs killed by a signal, whose full length is unknown. Returns their number. */
size_t query_runs_drop_killed(struct query_runs *r);
/* Returns the filter confined to the run. Its times count from the start of the run. */
struct query_filter query_run_filter(const struct query_run *run,
				     const struct query_filter *filter);
/* Returns "" without a variant. Valid as long as the profile. */
const char *query_run_variant(const struct query_run *run);
/*
 * Sorts both sides by start time. True if they ran in pairs: one of each in any order, then the
 * next two. False for a single pair.
 */
bool query_runs_are_pairs(struct query_runs *a, struct query_runs *b);
void query_runs_release(struct query_runs *r);

/* True for intervals of ticks that stand for about the same time, such as 1 ms and 1.001 ms. */
bool query_intervals_agree(uint64_t a, uint64_t b);

/*
 * Joins the runs of two sides in one profile, for front-ends that show both and their difference.
 */

/*
 * Returns a new profile of the samples that the filter keeps; the caller frees it. Its threads are
 * sides, by enum side. The runs of a side follow one another; each begins at the same time as the
 * corresponding run of the other side. Functions are joined, see join_functions(). Times of the
 * filter count from the start of each run. Returns -EXDEV if sampling intervals differ, so that
 * samples cannot be subtracted; otherwise the same errors as query_select().
 */
int join_sides(struct profile **into, const struct query_runs *const sides[SIDE_COUNT],
	       const char *const names[SIDE_COUNT], const struct query_filter *filter,
	       struct error *err);
