/* SPDX-License-Identifier: MIT */
/*
 * Limits the rows of samples: front-ends hold a few millions. Of too many, first waits that follow
 * each other become one, then ticks with one stack within 100 ms. If they are still too many, one
 * stands for several, thread by thread: those of the clock and of each event weigh as much as
 * before, together and on average each stack, as if fewer had been taken. Kinds with few rows stay
 * as they are.
 */
#ifndef PROF_LIB_SESSION_ROW_BOUNDS_H
#define PROF_LIB_SESSION_ROW_BOUNDS_H

#include "lib/profile/profile.h"

struct row_limits {
	uint64_t bytes; /* in a file, of rows and their stacks, about */
	uint64_t rows, stacks;
};

/* Limits of what a browser opens. */
#define ROW_LIMITS ((struct row_limits){190000000, 5000000, 1000000})

/*
 * Leaves no more than the limits, and says in the profile what it has merged and left out. Call it
 * at the end; the limits are ROW_LIMITS but in tests.
 */
void row_bounds_limit(struct profile *p, struct row_limits limits);

#endif
