/* SPDX-License-Identifier: MIT */
/* Open addressing, linear probing, at most three quarters full, removal by shifting back. */
#include "lib/base/base.h"

#include <assert.h>

#define FIRST_CAPACITY 16u

/*
 * Callers may pass weak hashes, such as the key itself: the multiplication moves their entropy to
 * the top bits.
 */
static uint32_t fold(uint64_t hash)
{
	return (uint32_t)((hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull >> 32);
}

/* Uses the top bits, so that growing walks both tables in the same order. */
static uint32_t home(uint32_t capacity, uint32_t hash)
{
	return hash >> (__builtin_clz(capacity) + 1);
}

void index_release(struct index *ix)
{
	free(ix->slots);
	*ix = (struct index){0};
}

void index_clear(struct index *ix)
{
	if (ix->count)
		memset(ix->slots, 0xff, ix->capacity * sizeof(*ix->slots));
	ix->count = 0;
}

uint32_t index_find(const struct index *ix, uint64_t hash, index_equal_fn *equal, const void *table,
		    const void *key)
{
	uint32_t folded = fold(hash), mask = ix->capacity - 1;

	if (!ix->count)
		return INDEX_NONE;
	for (uint32_t at = home(ix->capacity, folded);; at = (at + 1) & mask) {
		const struct index_slot *slot = &ix->slots[at];

		if (slot->id == INDEX_NONE)
			return INDEX_NONE;
		if (slot->hash == folded && equal(table, slot->id, key))
			return slot->id;
	}
}

static void place(struct index *ix, struct index_slot slot)
{
	uint32_t at = home(ix->capacity, slot.hash), mask = ix->capacity - 1;

	while (ix->slots[at].id != INDEX_NONE)
		at = (at + 1) & mask;
	ix->slots[at] = slot;
}

static void grow(struct index *ix)
{
	struct index_slot *old = ix->slots;
	uint32_t old_capacity = ix->capacity;

	assert(old_capacity <= UINT32_MAX / 4);
	ix->capacity = old_capacity ? old_capacity * 2 : FIRST_CAPACITY;
	ix->slots = xreallocarray(NULL, ix->capacity, sizeof(*ix->slots));
	memset(ix->slots, 0xff, ix->capacity * sizeof(*ix->slots));
	for (uint32_t i = 0; i < old_capacity; i++) {
		if (old[i].id != INDEX_NONE)
			place(ix, old[i]);
	}
	free(old);
}

void index_add(struct index *ix, uint64_t hash, uint32_t id)
{
	assert(id != INDEX_NONE);
	if (ix->count >= ix->capacity / 4 * 3)
		grow(ix);
	place(ix, (struct index_slot){.hash = fold(hash), .id = id});
	ix->count++;
}

/* Moves back entries that a search would no longer find past the gap, which avoids tombstones. */
static void close_gap(struct index *ix, uint32_t gap)
{
	uint32_t mask = ix->capacity - 1;

	for (uint32_t at = (gap + 1) & mask; ix->slots[at].id != INDEX_NONE; at = (at + 1) & mask) {
		uint32_t distance = (at - home(ix->capacity, ix->slots[at].hash)) & mask;

		if (distance >= ((at - gap) & mask)) {
			ix->slots[gap] = ix->slots[at];
			gap = at;
		}
	}
	ix->slots[gap].id = INDEX_NONE;
}

uint32_t index_intern(struct index *ix, uint64_t hash, index_equal_fn *equal, const void *table,
		      const void *key, size_t next)
{
	uint32_t id = index_find(ix, hash, equal, table, key);

	if (id == INDEX_NONE) {
		id = (uint32_t)next;
		index_add(ix, hash, id);
	}
	return id;
}

void index_remove(struct index *ix, uint64_t hash, uint32_t id)
{
	uint32_t folded = fold(hash), mask = ix->capacity - 1;

	if (!ix->count || id == INDEX_NONE)
		return;
	for (uint32_t at = home(ix->capacity, folded); ix->slots[at].id != INDEX_NONE;
	     at = (at + 1) & mask) {
		if (ix->slots[at].id != id || ix->slots[at].hash != folded)
			continue;
		close_gap(ix, at);
		ix->count--;
		return;
	}
}

static uint64_t load_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t load_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/*
 * Folds both halves of the product: after a plain multiplication, the next word could cancel an
 * input bit in a predictable way.
 */
static uint64_t fold_product(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const void *data, size_t size, uint64_t seed)
{
	const uint64_t odd = 0x9fb21c651e98df25ull;
	const uint8_t *at = data;
	uint64_t hash = seed ^ (size + 1) * 0x9e3779b97f4a7c15ull, a = 0, b = 0;
	size_t left = size;

	for (; left > 16; left -= 16, at += 16)
		hash = fold_product(load_u64(at) ^ odd, load_u64(at + 8) ^ hash);
	/*
	 * Hash the rest without a loop; reads may overlap because the hash already includes the
	 * size.
	 */
	if (size >= 16) {
		a = load_u64(at + left - 16);
		b = load_u64(at + left - 8);
	} else if (size >= 8) {
		a = load_u64(at);
		b = load_u64(at + size - 8);
	} else if (size >= 4) {
		a = load_u32(at);
		b = load_u32(at + size - 4);
	} else if (size) {
		a = at[0] | (uint64_t)at[size / 2] << 8 | (uint64_t)at[size - 1] << 16;
	}
	return hash_u64(fold_product(a ^ odd, b ^ hash));
}
