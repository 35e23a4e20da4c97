/* SPDX-License-Identifier: MIT */
/* The runs that profiles hold: those of their markers, or a whole profile as one. */
#ifndef PROF_LIB_QUERY_RUNS_H
#define PROF_LIB_QUERY_RUNS_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/model/tables/profile.h"
#include "lib/query/select.h"

/* More than anyone waits for; a file could ask for more work than its size. */
#define QUERY_RUNS_MAX 2000

struct query_run {
	const struct profile *profile; /* borrowed */
	uint64_t from, until; /* ns since the profile's start */
	uint64_t began_ns; /* Unix epoch; 0: not known */
	uint64_t wall_ns;
	string_id variant; /* of the profile; NO_STRING: none */
	uint32_t variant_number; /* in the order in which variants were given */
	uint32_t iteration; /* 0 of a whole profile */
	uint32_t status; /* of its exit; 0 of a whole profile */
	uint32_t looks; /* see recording_markers.h */
	bool is_marked; /* else it is a whole profile */
};

struct query_runs {
	VEC(struct query_run) rows; /* of a profile in the order in which they began */
};

/* Appends the runs of a profile. -E2BIG: there are too many. */
int query_runs_find(struct query_runs *r, const struct profile *p, struct error *err);
/*
 * Moves the runs of two variants of a profile apart: those of the variant that was given first, or
 * that is called `base`, to `a`; those of the only other one, or that is called `other`, to `b`. An
 * iteration that was not finished is left out. -ENODATA: there are no such variants.
 */
int query_runs_split(struct query_runs *r, const char *base, const char *other,
		     struct query_runs *a, struct query_runs *b, struct error *err);
/* Drops runs that a signal ended: they are of no known length. Returns how many. */
size_t query_runs_drop_killed(struct query_runs *r);
/* The filter with its times, which count from the start of each run, within that run. */
struct query_filter query_run_filter(const struct query_run *run,
				     const struct query_filter *filter);
/* "" where it has none; valid as long as the profile. */
const char *query_run_variant(const struct query_run *run);
/*
 * Sorts both by the time at which they began. Did they run in pairs, one of each in any order, then
 * the next two? False if there is but one pair.
 */
bool query_runs_are_pairs(struct query_runs *a, struct query_runs *b);
void query_runs_release(struct query_runs *r);

#endif
