/* SPDX-License-Identifier: MIT */
/*
 * Samples that a filter keeps as a profile of their own, without anything that belongs to others.
 * Several profiles become one, side by side in the order of wall clock.
 */
#ifndef PROF_LIB_QUERY_NARROW_H
#define PROF_LIB_QUERY_NARROW_H

#include "lib/query/select.h"

struct narrow_counts {
	uint64_t lost_markers; /* of a schema whose name another profile uses for another one */
};

/*
 * Makes a new profile, to be freed, of `count` profiles. A pid that occurs in several is numbered
 * as if it was used again. Counters are kept if neither a process nor a thread is asked for.
 * -ENOENT or -EINVAL as query_select(); -EINVAL if intervals differ: ticks of both could not be
 * added up.
 */
int narrow(struct profile **into, const struct profile *const *profiles, size_t count,
	   const struct query_filter *filter, struct narrow_counts *counts, struct error *err);

#endif
