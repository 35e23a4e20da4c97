/* SPDX-License-Identifier: MIT */
/*
 * Finds the innermost of many possibly nested address ranges around an address: flattens the ranges
 * once into disjoint segments, then bisects. Used for symbols, units, functions and inlined calls;
 * forged ranges cost no more than regular ones.
 */
#pragma once

#include "lib/base/base.h"

#define NO_SEGMENT UINT32_MAX

/* [start, end); empty ones are ignored. */
struct interval {
	uint64_t start, end;
	uint32_t id; /* any id but NO_SEGMENT */
	uint32_t rank; /* if two ranges are equal, the one with the higher rank is inner */
};

struct intervals {
	VEC(struct interval) rows;
};

/* Extends to the start of the next segment. */
struct segment {
	uint64_t start;
	uint32_t id; /* NO_SEGMENT: no range covers it */
};

struct segments {
	VEC(struct segment) rows;
};

/*
 * Chooses, of the ranges around an address, the one that starts last, then the one that ends first.
 * Sorts `intervals`; `s` must be empty.
 */
void segments_build(struct segments *s, struct intervals *intervals);
/*
 * The same, incrementally for sorted ranges: by start, outer ones before inner ones. Initially
 * zeroed except for `out`; ended by segments_builder_finish().
 */
struct segments_builder {
	struct segments *out; /* initially empty */
	VEC(struct interval) open; /* open ranges, innermost last */
};
void segments_builder_add(struct segments_builder *b, const struct interval *next);
void segments_builder_finish(struct segments_builder *b);
void segments_release(struct segments *s);
/* Returns the id of the range around the address, or NO_SEGMENT. */
uint32_t segments_find(const struct segments *s, uint64_t address);

/* Limits the time spent on damaged files. */

/* Remaining steps (entries, ranges, lines); initially a multiple of the size of the file. */
struct step_budget {
	uint64_t left;
};

static inline bool step_budget_take(struct step_budget *w, uint64_t steps)
{
	bool is_enough = w->left >= steps;

	w->left = is_enough ? w->left - steps : 0;
	return is_enough;
}
