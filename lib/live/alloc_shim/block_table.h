/* SPDX-License-Identifier: MIT */
/*
 * Addresses of sampled blocks, without locks: any number of threads, and signal handlers that
 * interrupt them, may add and take at the same time. A block's address is added before anybody else
 * can free it, and taken before the allocator can give it away again.
 */
#ifndef PROF_LIB_LIVE_ALLOC_SHIM_BLOCK_TABLE_H
#define PROF_LIB_LIVE_ALLOC_SHIM_BLOCK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define BLOCKS_MAX (1u << 20)
/* Slots in which an address may be: those of a cache line. */
#define BLOCK_WAYS 8
#define BLOCK_FILTER (1u << 16)

/* Zeroed is empty. */
struct block_table {
	/* Numbers of blocks in pages of each hash: most frees need to know no more. */
	uint16_t filter[BLOCK_FILTER];
	uint64_t slots[BLOCKS_MAX] __attribute__((aligned(64))); /* 0: free */
};

#define BLOCK_HASH 0x9e3779b97f4a7c15ull

static inline uint16_t *block_filter(struct block_table *t, uint64_t address)
{
	return &t->filter[(address >> 12) * BLOCK_HASH >> 48];
}

/* False if surely no block with that address was added. */
static inline bool block_table_may_have(struct block_table *t, uint64_t address)
{
	return __builtin_expect(__atomic_load_n(block_filter(t, address), __ATOMIC_RELAXED), 0);
}

/* False: there is no room. An address that is there already stays there once. */
bool block_table_add(struct block_table *t, uint64_t address);
/* Removes the address. False: it was not there. */
bool block_table_take(struct block_table *t, uint64_t address);

#endif
