/* SPDX-License-Identifier: MIT */
/*
 * Makes a profile of the samples that a filter keeps, without data of others. Merges several
 * profiles on the wall clock.
 */
#ifndef PROF_LIB_QUERY_NARROW_H
#define PROF_LIB_QUERY_NARROW_H

#include "lib/query/select.h"

struct narrow_counts {
	uint64_t lost_markers; /* markers whose schema has a different meaning in a different
				  profile */
};

/*
 * Makes a new profile, to be freed, of `count` profiles. A pid that occurs in several is numbered
 * as if it was reused. Keeps counters unless the filter selects processes or threads. -ENOENT or
 * -EINVAL as query_select(); -EINVAL if sampling intervals differ, so that ticks cannot be added.
 */
int narrow(struct profile **into, const struct profile *const *profiles, size_t count,
	   const struct query_filter *filter, struct narrow_counts *counts, struct error *err);

#endif
