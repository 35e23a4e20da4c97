/* SPDX-License-Identifier: MIT */
/* Counts something per process and knows the process with the most without a search. */
#ifndef PROF_LIB_CODE_FILES_OWNER_COUNTS_H
#define PROF_LIB_CODE_FILES_OWNER_COUNTS_H

#include <stdint.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"

#define NO_OWNER UINT32_MAX

struct owner {
	uint32_t pid;
	uint32_t count;
	uint32_t before, after; /* list of equal counts; `after` of a free row: next free one */
};

/* A row keeps its place while its count is not 0. */
struct owner_counts {
	VEC(struct owner) rows;
	VEC(uint32_t) heads; /* by count: 1 + the row of the first owner; 0: none */
	struct index by_pid;
	uint32_t largest; /* highest count of an owner; 0: none */
	uint32_t free_row; /* 1 + its number; 0: none */
};

/* A zeroed struct is empty. */
void owner_counts_release(struct owner_counts *c);
/* Adds one to the process. Returns its row. */
uint32_t owner_counts_add(struct owner_counts *c, uint32_t pid);
/* Takes one from the row's process. */
void owner_counts_remove(struct owner_counts *c, uint32_t row);
/* A process with the highest count, or NO_OWNER. */
uint32_t owner_counts_largest(const struct owner_counts *c);

#endif
