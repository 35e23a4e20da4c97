/* SPDX-License-Identifier: MIT */
/* How much each process has of something, and which of them has most, without a search. */
#ifndef PROF_LIB_BASE_OWNER_COUNTS_H
#define PROF_LIB_BASE_OWNER_COUNTS_H

#include <stdint.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"

#define NO_OWNER UINT32_MAX

struct owner {
	uint32_t pid;
	uint32_t count;
	uint32_t before, after; /* others with that count; of free rows: the next free one */
};

/* Rows stay where they are as long as their count is not 0. */
struct owner_counts {
	VEC(struct owner) rows;
	VEC(uint32_t) heads; /* by count: 1 + the row of the first owner; 0: none */
	struct index by_pid;
	uint32_t largest; /* count of the owner with most; 0: there is none */
	uint32_t free_row; /* 1 + its number; 0: none */
};

/* A zeroed struct has none. */
void owner_counts_release(struct owner_counts *c);
/* One more of that process. Returns its row. */
uint32_t owner_counts_add(struct owner_counts *c, uint32_t pid);
/* One less. */
void owner_counts_remove(struct owner_counts *c, uint32_t row);
/* One of those with most, or NO_OWNER. */
uint32_t owner_counts_largest(const struct owner_counts *c);

#endif
