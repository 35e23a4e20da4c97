/* SPDX-License-Identifier: MIT */
#include "lib/live/alloc_shim/sampled_blocks.h"

#include <stddef.h>
#include <string.h>

#define LN2 0.6931471805599453

/* Returns the natural logarithm of a positive normal number, within 1e-12. */
static double log_of(double x)
{
	uint64_t bits;
	int exponent;
	double t, square, power, sum = 0;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52) - 1023;
	bits = (bits & 0xfffffffffffffull) | 1023ull << 52;
	memcpy(&x, &bits, sizeof(x));
	/* 2 * artanh(t), |t| ≤ 1/3 */
	t = power = (x - 1) / (x + 1);
	square = t * t;
	for (int i = 1; i < 25; i += 2) {
		sum += power / i;
		power *= square;
	}
	return 2 * sum + exponent * LN2;
}

/* Returns 1 - e^(-x) for x ≥ 0, with an error of at most 1e-12. */
static double chance_of(double x)
{
	double part, sum = 0, rest = 1;
	int halvings = 0;

	if (x > 40)
		return 1;
	for (; x > 0.5; halvings++)
		x /= 2;
	part = x;
	for (int i = 2; i < 16; i++) {
		sum += part;
		part *= -x / i;
	}
	/* e^(-2x) is the square of e^(-x). */
	for (rest = 1 - sum; halvings; halvings--) {
		rest *= rest;
		sum = 1 - rest;
	}
	return sum;
}

static uint64_t next(struct byte_sampler *s)
{
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return s->random * 0x2545f4914f6cdd1dull;
}

void byte_sampler_draw(struct byte_sampler *s, double mean)
{
	/* A random number in (0, 1]. */
	double part = (double)((next(s) >> 11) + 1) / (double)(1ull << 53);
	double distance = -log_of(part) * mean;

	s->distance = distance < 1e18 ? (int64_t)distance + 1 : (int64_t)1e18;
}

void byte_sampler_begin(struct byte_sampler *s, uint64_t seed, double mean)
{
	/* splitmix64, so that similar seeds do not lead to similar numbers. */
	seed += 0x9e3779b97f4a7c15ull;
	seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9ull;
	seed = (seed ^ seed >> 27) * 0x94d049bb133111ebull;
	s->random = (seed ^ seed >> 31) | 1;
	byte_sampler_draw(s, mean);
}

uint64_t byte_sampler_weight(uint64_t size, double mean)
{
	double weight = (double)size / chance_of((double)size / mean);

	return weight < 1.8e19 ? (uint64_t)(weight + 0.5) : size;
}

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
