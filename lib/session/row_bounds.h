/* SPDX-License-Identifier: MIT */
/*
 * Limits the rows of samples: front-ends hold a few millions. Of too many, one stands for several:
 * those of the clock and of each event weigh as much as before, together and on average each stack,
 * as if fewer had been taken. Kinds with few rows stay as they are.
 */
#ifndef PROF_LIB_SESSION_ROW_BOUNDS_H
#define PROF_LIB_SESSION_ROW_BOUNDS_H

#include "lib/profile/profile.h"

#define SAMPLE_BYTES_MAX 130000000u

/*
 * Leaves as many rows as take about so many bytes in a file with their stacks, and says in the
 * profile what it has left out. Call it at the end; bytes_max is SAMPLE_BYTES_MAX but in tests.
 */
void row_bounds_limit(struct profile *p, uint64_t bytes_max);

#endif
