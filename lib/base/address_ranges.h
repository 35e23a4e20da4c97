/* SPDX-License-Identifier: MIT */
/* Address ranges that do not overlap. */
#pragma once

#include "lib/base/base.h"

struct address_range {
	uint64_t start, end;
};

struct address_ranges {
	VEC(struct address_range) rows; /* in ascending order */
};

void address_ranges_release(struct address_ranges *r);
bool address_ranges_cover(const struct address_ranges *r, uint64_t addr);
/* Adds [start, end). Returns false and adds nothing if it is empty or overlaps another range. */
bool address_ranges_add(struct address_ranges *r, uint64_t start, uint64_t end);
