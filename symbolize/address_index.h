/* SPDX-License-Identifier: MIT */
/* Where the frames of a profile lie: by module, and in each by address. */
#ifndef PROF_SYMBOLIZE_ADDRESS_INDEX_H
#define PROF_SYMBOLIZE_ADDRESS_INDEX_H

#include "lib/profile/profile.h"

struct place {
	uint64_t rva;
	frame_id frame;
};

/* One group after the other: group i is that of module i, the last one lies in no module. */
struct places {
	struct place *rows; /* by address in each group */
	size_t *ends; /* by group */
	size_t group_count;
};

/* Leaves out frames that nobody could name. */
void places_collect(struct places *places, struct profile *p);
void places_release(struct places *places);
/* How many different addresses lie among `count` places, which are in order. */
size_t places_count_distinct(const struct place *places, size_t count);

#endif
