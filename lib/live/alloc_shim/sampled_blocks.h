/* SPDX-License-Identifier: MIT */
/* Allocations to sample, and the set of those that were sampled. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Samples allocations at random, as if each byte were marked with probability 1 / mean: an
 * allocation with a marked byte is sampled. Needs no library. Each thread has its own sampler.
 */

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

/*
 * Lock-free set of the addresses of sampled blocks: threads, and signal handlers that interrupt
 * them, may add and take concurrently. A block's address is added before another thread can free
 * the block, and taken before the allocator can reuse it.
 */

#define BLOCKS_MAX (1u << 20)
/* Slots of a set, any of which may hold its address: one cache line. */
#define BLOCK_WAYS 8
#define BLOCK_FILTER (1u << 16)

/* A zeroed struct is empty. */
struct block_table {
	/* Number of blocks per page hash; most frees need no further lookup. */
	uint16_t filter[BLOCK_FILTER];
	uint64_t slots[BLOCKS_MAX] __attribute__((aligned(64))); /* 0: free slot */
};

#define BLOCK_HASH 0x9e3779b97f4a7c15ull

static inline uint16_t *block_filter(struct block_table *t, uint64_t address)
{
	return &t->filter[(address >> 12) * BLOCK_HASH >> 48];
}

/* Returns false if the table does not contain the address, true if it may contain it. */
static inline bool block_table_may_have(struct block_table *t, uint64_t address)
{
	return __builtin_expect(__atomic_load_n(block_filter(t, address), __ATOMIC_RELAXED), 0);
}

/* Adds the address, unless it is present. Returns false if there is no room. */
bool block_table_add(struct block_table *t, uint64_t address);
/* Removes the address. Returns false if it is not present. */
bool block_table_take(struct block_table *t, uint64_t address);
