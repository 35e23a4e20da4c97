/* SPDX-License-Identifier: MIT */
/*
 * Chooses allocations by chance, as if each byte were marked with probability 1 / mean: an
 * allocation is sampled if a byte of it is. Needs no library. Each thread has its own.
 */
#ifndef PROF_LIB_LIVE_ALLOC_SHIM_BYTE_SAMPLER_H
#define PROF_LIB_LIVE_ALLOC_SHIM_BYTE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed has not begun. */
struct byte_sampler {
	int64_t distance; /* bytes up to the next marked one */
	uint64_t random; /* state of xorshift64*; 0: not begun */
};

/* True if nothing of the next `size` bytes is marked, as far as this is known without effort. */
static inline bool byte_sampler_passes(struct byte_sampler *s, uint64_t size)
{
	int64_t bytes = size > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)size;

	s->distance -= bytes;
	return __builtin_expect(s->distance > 0, 1);
}

/* Begins, with any seed, or again with another one. */
void byte_sampler_begin(struct byte_sampler *s, uint64_t seed, double mean);
/* Goes on after a sample: draws the distance to the next marked byte. */
void byte_sampler_draw(struct byte_sampler *s, double mean);
/* Bytes that a sampled allocation of that size stands for: size / (1 - e^(-size / mean)). */
uint64_t byte_sampler_weight(uint64_t size, double mean);

#endif
