/* SPDX-License-Identifier: MIT */
#include "lib/live/alloc_shim/block_table.h"

#include <stddef.h>

_Static_assert(BLOCK_FILTER == 1u << 16, "see block_filter()");

/*
 * Maximum counter value, above the number of blocks per page hash in any program; prevents
 * overflow.
 */
#define FILTER_MAX 60000
#define BLOCK_SET_BITS 17
_Static_assert(BLOCKS_MAX == BLOCK_WAYS << BLOCK_SET_BITS, "all slots are used");

static uint64_t *ways_of(struct block_table *t, uint64_t address)
{
	uint64_t hash = (address >> 4) * BLOCK_HASH;

	/* The upper bits are mixed best. */
	return &t->slots[(hash >> (64 - BLOCK_SET_BITS)) * BLOCK_WAYS];
}

static bool has(const uint64_t *ways, uint64_t address)
{
	for (size_t i = 0; i < BLOCK_WAYS; i++) {
		if (__atomic_load_n(&ways[i], __ATOMIC_RELAXED) == address)
			return true;
	}
	return false;
}

static bool replace(uint64_t *ways, uint64_t old, uint64_t address)
{
	for (size_t i = 0; i < BLOCK_WAYS; i++) {
		uint64_t expected = old;

		if (__atomic_load_n(&ways[i], __ATOMIC_RELAXED) == old &&
		    __atomic_compare_exchange_n(&ways[i], &expected, address, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

bool block_table_add(struct block_table *t, uint64_t address)
{
	uint64_t *ways = ways_of(t, address);
	uint16_t *filter = block_filter(t, address);

	/* The free was missed, for instance because there was no listener. */
	if (has(ways, address))
		return true;
	if (__atomic_load_n(filter, __ATOMIC_RELAXED) >= FILTER_MAX)
		return false;
	/* Count before setting the slot: a thread that finds it may decrement the counter. */
	__atomic_fetch_add(filter, 1, __ATOMIC_ACQ_REL);
	if (replace(ways, 0, address))
		return true;
	__atomic_fetch_sub(filter, 1, __ATOMIC_ACQ_REL);
	return false;
}

bool block_table_take(struct block_table *t, uint64_t address)
{
	/* Programs also free NULL, which is the value of free slots. */
	if (!address || !replace(ways_of(t, address), address, 0))
		return false;
	__atomic_fetch_sub(block_filter(t, address), 1, __ATOMIC_ACQ_REL);
	return true;
}
