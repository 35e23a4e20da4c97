/* SPDX-License-Identifier: MIT */
/* Sorts by number; many times faster than qsort() on many rows. */
#pragma once

#include "lib/base/base.h"

struct radix_row {
	uint64_t key;
	uint32_t value; /* any value; usually the number of a larger row */
};

/* Sorts by key, in ascending order; stable. */
void radix_sort(struct radix_row *rows, size_t count);
