/* SPDX-License-Identifier: MIT */
/* Judges whether two sides can be compared, and what differs besides the program. */
#ifndef PROF_LIB_QUERY_COMPARABLE_H
#define PROF_LIB_QUERY_COMPARABLE_H

#include "lib/base/vec.h"
#include "lib/query/runs.h"

struct comparable {
	VEC(char *) refusals; /* reasons against any comparison; owned */
	VEC(char *) warnings; /* other possible reasons for a difference; owned */
};

/* Looks at the profiles of all runs; sides have one or more. */
void comparable_check(struct comparable *c, const struct query_runs *a, const struct query_runs *b);
void comparable_release(struct comparable *c);

#endif
