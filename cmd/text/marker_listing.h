/* SPDX-License-Identifier: MIT */
/* Markers as rows to be printed, in the order of their beginnings. */
#ifndef PROF_CMD_TEXT_MARKER_LISTING_H
#define PROF_CMD_TEXT_MARKER_LISTING_H

#include "cmd/text/query_listing.h"

/*
 * Lists the markers of the threads that the filter selects, which last in its time. Returns how
 * many were left out because of the limit.
 */
size_t marker_listing(struct listing *l, const struct profile *p, const struct query_filter *filter,
		      const struct query_listing_options *options);

#endif
