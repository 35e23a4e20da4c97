/* SPDX-License-Identifier: MIT */
/*
 * Makes a profile of the samples that a filter keeps, without data of any other samples. Merges
 * several profiles by wall clock.
 */
#pragma once

#include "lib/query/select.h"

struct narrow_counts {
	/* markers dropped because their schema means something else in another profile */
	uint64_t lost_markers;
};

/*
 * Makes a new profile of `count` profiles; the caller frees it. A pid that occurs in several
 * profiles is numbered as if it had been reused. Keeps counters unless the filter selects processes
 * or threads. Returns -ENOENT or -EINVAL like query_select(), or -EXDEV like
 * row_join_ticks().
 */
int narrow(struct profile **into, const struct profile *const *profiles, size_t count,
	   const struct query_filter *filter, struct narrow_counts *counts, struct error *err);
