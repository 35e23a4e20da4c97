/* SPDX-License-Identifier: MIT */
#include "lib/base/base.h"

#include <assert.h>

/* Large arrays grow by a smaller factor: moving their pages is cheap, unused room is not. */
#define LARGE ((size_t)4 << 20)

static size_t growth(size_t capacity, size_t item_size)
{
	return capacity / (capacity * item_size >= LARGE ? 8 : 2) + 8;
}

void *vec_grow(void *items, size_t *capacity, size_t needed, size_t item_size)
{
	size_t larger;

	if (needed <= *capacity)
		return items;
	if (__builtin_add_overflow(*capacity, growth(*capacity, item_size), &larger) ||
	    larger < needed)
		larger = needed;
	items = xreallocarray(items, larger, item_size);
	*capacity = larger;
	return items;
}

void *vec_shrink(void *items, size_t *capacity, size_t count, size_t item_size)
{
	void *moved = NULL;

	if (*capacity == count)
		return items;
	/* Shrinking in place would leave a hole that few allocations fit into. */
	if (count)
		moved = memcpy(xreallocarray(NULL, count, item_size), items, count * item_size);
	free(items);
	*capacity = count;
	return moved;
}

int u64_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define PASSES ((64 + DIGIT_BITS - 1) / DIGIT_BITS)
/* One pass over all digit values costs as much as this many rows. */
#define FEW 64

static size_t digit_of(const struct radix_row *row, unsigned int pass)
{
	return row->key >> (pass * DIGIT_BITS) & (DIGITS - 1);
}

static void sort_few(struct radix_row *rows, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct radix_row row = rows[i];
		size_t at = i;

		for (; at && rows[at - 1].key > row.key; at--)
			rows[at] = rows[at - 1];
		rows[at] = row;
	}
}

/* Turns counts into start positions of rows with each digit. */
static void add_up(size_t *counts)
{
	size_t sum = 0;

	for (size_t digit = 0; digit < DIGITS; digit++) {
		size_t count = counts[digit];

		counts[digit] = sum;
		sum += count;
	}
}

void radix_sort(struct radix_row *rows, size_t count)
{
	_cleanup_free_ struct radix_row *spare = NULL;
	_cleanup_free_ size_t *counts = NULL;
	struct radix_row *from = rows, *to;

	if (count <= FEW) {
		sort_few(rows, count);
		return;
	}
	spare = xmalloc(count * sizeof(*spare));
	counts = xcalloc((size_t)PASSES * DIGITS, sizeof(*counts));
	for (size_t i = 0; i < count; i++) {
		for (unsigned int pass = 0; pass < PASSES; pass++)
			counts[pass * DIGITS + digit_of(&rows[i], pass)]++;
	}
	to = spare;
	for (unsigned int pass = 0; pass < PASSES; pass++) {
		size_t *places = counts + (size_t)pass * DIGITS;
		struct radix_row *swap = from;

		/* Skip digits that are equal in all rows, as the high ones usually are. */
		if (places[digit_of(&rows[0], pass)] == count)
			continue;
		add_up(places);
		for (size_t i = 0; i < count; i++)
			to[places[digit_of(&from[i], pass)]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != rows)
		memcpy(rows, from, count * sizeof(*rows));
}

/* Open addressing, linear probing, at most three quarters full, removal by shifting back. */

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
