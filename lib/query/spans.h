/* SPDX-License-Identifier: MIT */
/* Times that markers cover. */
#ifndef PROF_LIB_QUERY_SPANS_H
#define PROF_LIB_QUERY_SPANS_H

#include "lib/base/error.h"
#include "lib/model/tables/profile.h"

/* [from, until), CLOCK_MONOTONIC ns. */
struct query_span {
	uint64_t from, until;
};

/* Ascending, and apart from each other. A zeroed struct is empty. */
struct query_spans {
	VEC(struct query_span) rows;
};

/*
 * Finds the times in which any marker lasts whose name matches the glob; none for NULL. -ENOENT
 * with err where there is no such marker.
 */
int query_spans_find(struct query_spans *s, const struct profile *p, const char *glob,
		     struct error *err);
void query_spans_release(struct query_spans *s);
/* Is that time in one of them? *at is 0 before the first of ascending times. */
bool query_spans_have(const struct query_spans *s, uint64_t time, size_t *at);

static inline void query_spans_release_cleanup(struct query_spans *s)
{
	query_spans_release(s);
}

#endif
