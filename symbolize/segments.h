/* SPDX-License-Identifier: MIT */
/*
 * Which of many possibly nested address ranges is the innermost one around an address: ranges are
 * flattened once into disjoint segments, then asked by binary search. Serves symbols, units,
 * functions and inlined calls alike; any mess of ranges costs no more than a tidy set.
 */
#ifndef PROF_SYMBOLIZE_SEGMENTS_H
#define PROF_SYMBOLIZE_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

#define NO_SEGMENT UINT32_MAX

/* [start, end); empty ones are ignored. */
struct interval {
	uint64_t start, end;
	uint32_t id; /* the caller's; not NO_SEGMENT */
	uint32_t rank; /* of two equal ranges the one of higher rank is the inner one */
};

struct intervals {
	VEC(struct interval) rows;
};

/* Reaches to the start of the next one. */
struct segment {
	uint64_t start;
	uint32_t id; /* NO_SEGMENT: a gap */
};

struct segments {
	VEC(struct segment) rows;
};

/*
 * Of the ranges around an address that one wins that starts last, then that ends first. Sorts
 * `intervals`; s is empty before.
 */
void segments_build(struct segments *s, struct intervals *intervals);
/*
 * The same one range after the other, for who has them in order: by start, outer ones before those
 * that they hold. Zeroed but for `out` before the first one; ended by segments_builder_finish().
 */
struct segments_builder {
	struct segments *out; /* empty before */
	VEC(struct interval) open; /* ranges that have begun, innermost last */
};
void segments_builder_add(struct segments_builder *b, const struct interval *next);
void segments_builder_finish(struct segments_builder *b);
void segments_release(struct segments *s);
/* The id of the range around the address, or NO_SEGMENT. */
uint32_t segments_find(const struct segments *s, uint64_t address);

#endif
