/* SPDX-License-Identifier: MIT */
/*
 * Samples allocations at random, as if each byte were marked with probability 1 / mean: an
 * allocation with a marked byte is sampled. Needs no library. Each thread has its own sampler.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: not begun. */
struct byte_sampler {
	int64_t distance; /* bytes until the next marked byte */
	uint64_t random; /* state of xorshift64*; 0: not seeded yet */
};

/*
 * Advances by `size` bytes. Returns true if none of them is marked; false if one is, or the sampler
 * has not begun.
 */
static inline bool byte_sampler_passes(struct byte_sampler *s, uint64_t size)
{
	int64_t bytes = size > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)size;

	s->distance -= bytes;
	return __builtin_expect(s->distance > 0, 1);
}

/* Begins, or begins again, with any seed. */
void byte_sampler_begin(struct byte_sampler *s, uint64_t seed, double mean);
/* Draws the distance to the next marked byte, after a sample. */
void byte_sampler_draw(struct byte_sampler *s, double mean);
/* Returns the bytes that a sampled allocation represents: size / (1 - e^(-size / mean)). */
uint64_t byte_sampler_weight(uint64_t size, double mean);
