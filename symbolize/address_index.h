/* SPDX-License-Identifier: MIT */
/* The frames of a profile, by module and within it by address. */
#ifndef PROF_SYMBOLIZE_ADDRESS_INDEX_H
#define PROF_SYMBOLIZE_ADDRESS_INDEX_H

#include "lib/model/tables/profile.h"

struct place {
	uint64_t rva;
	frame_id frame;
};

/*
 * Groups one after the other: group i belongs to module i; the frames of the last lie in no module.
 */
struct address_index {
	struct place *rows; /* by address in each group */
	size_t *ends; /* by group */
	size_t group_count;
};

/* Collects the frames of the profile, except those that nothing could name. */
void address_index_collect(struct address_index *index, struct profile *p);
void address_index_release(struct address_index *index);
/* Number of different addresses among `count` sorted places. */
size_t address_index_count_distinct(const struct place *places, size_t count);

#endif
