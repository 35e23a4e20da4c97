/* SPDX-License-Identifier: MIT */
/*
 * Joins the runs of two sides in one profile, for front-ends that show both and their difference.
 */
#pragma once

#include "lib/query/runs.h"
#include "lib/query/select.h"
#include "lib/query/shares.h"

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
