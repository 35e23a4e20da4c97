/* SPDX-License-Identifier: MIT */
/* The runs of two sides as one profile, for front-ends that show both and their difference. */
#ifndef PROF_LIB_QUERY_JOIN_SIDES_H
#define PROF_LIB_QUERY_JOIN_SIDES_H

#include "lib/query/runs.h"
#include "lib/query/select.h"
#include "lib/query/shares.h"

/*
 * Makes a new profile, to be freed, of the samples that the filter keeps. Its threads are sides, by
 * enum side. A side has its runs one after the other, each beginning together with that of the
 * other side. Functions are joined, see join_functions(). Times of the filter count from the start
 * of each run. -EXDEV: intervals differ, so that samples of both could not be subtracted; or as
 * query_select().
 */
int join_sides(struct profile **into, const struct query_runs *const sides[SIDE_COUNT],
	       const char *const names[SIDE_COUNT], const struct query_filter *filter,
	       struct error *err);

#endif
