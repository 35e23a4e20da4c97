/* SPDX-License-Identifier: MIT */
/*
 * Containers: arrays, and hash indexes of their rows. A growing array of any type:
 *
 *	struct answers { VEC(char *) list; };
 *	vec_push(&names.list, name);
 *	vec_for_each(&names.list, char **, it) use(*it);
 *	vec_release(&names.list);
 *
 * A zeroed VEC is an empty one. Growth is geometric; items move, so keep ids and not pointers.
 */
#pragma once

#include "lib/base/base.h"

#define VEC(type) \
	struct { \
		type *items; \
		size_t count, capacity; \
	}

/* Makes room for `capacity` items of item_size bytes each; returns the (moved) items. */
void *vec_grow(void *items, size_t *capacity, size_t needed, size_t item_size);
/* Returns the (moved) items with room for exactly `count` of them, NULL for none. */
void *vec_shrink(void *items, size_t *capacity, size_t count, size_t item_size);

#define vec_reserve(v, needed) \
	do { \
		if ((needed) > (v)->capacity) \
			(v)->items = vec_grow((v)->items, &(v)->capacity, (needed), \
					      sizeof(*(v)->items)); \
	} while (0)

#define vec_push(v, ...) \
	do { \
		vec_reserve(v, (v)->count + 1); \
		(v)->items[(v)->count++] = (__VA_ARGS__); \
	} while (0)

/* Appends `n` zeroed items and returns a pointer to the first. */
#define vec_add_zeroed(v, n) \
	({ \
		size_t vec_n_ = (n); \
		vec_reserve(v, (v)->count + vec_n_); \
		memset((v)->items + (v)->count, 0, vec_n_ * sizeof(*(v)->items)); \
		(v)->count += vec_n_; \
		(v)->items + (v)->count - vec_n_; \
	})

/* Releases unused capacity. */
#define vec_fit(v) \
	((v)->items = vec_shrink((v)->items, &(v)->capacity, (v)->count, sizeof(*(v)->items)))
#define vec_last(v) ((v)->items[(v)->count - 1])
#define vec_clear(v) ((void)((v)->count = 0))
/* Three-way comparison of two numbers, which are evaluated twice. */
#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))
/*
 * Defines a comparison function of items *a and *b, for vec_sort() and qsort():
 *
 *	ORDER(compare_names, struct name, COMPARE(a->size, b->size) ?: strcmp(a->text, b->text))
 */
#define ORDER(name, type, order) \
	static int name(const void *left_, const void *right_) \
	{ \
		const type *a = left_; \
		const type *b = right_; \
\
		return order; \
	}

/* The smaller and the larger of two numbers, which are evaluated twice. */
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))

/* Orders uint64_t ascending. */
int u64_compare(const void *a, const void *b);
/* Works for an empty VEC, too: qsort() must not get NULL as items. */
#define vec_sort(v, compare) \
	do { \
		if ((v)->count > 1) \
			qsort((v)->items, (v)->count, sizeof(*(v)->items), compare); \
	} while (0)
/*
 * Counts by bisection the leading items that meet a condition on `it`, a pointer to an item. All
 * items that meet it must precede those that do not.
 */
#define count_front(array, n, it, ...) \
	({ \
		size_t low_ = 0, high_ = (n); \
		while (low_ < high_) { \
			size_t middle_ = low_ + (high_ - low_) / 2; \
			__typeof__(&(array)[0]) it = &(array)[middle_]; \
			if (__VA_ARGS__) \
				low_ = middle_ + 1; \
			else \
				high_ = middle_; \
		} \
		low_; \
	})
#define vec_count_front(v, it, ...) count_front((v)->items, (v)->count, it, __VA_ARGS__)
/*
 * Returns a pointer to the first item that meets a condition on `it`, a pointer to an item; NULL if
 * none does.
 */
#define items_find(items, n, it, ...) \
	({ \
		__typeof__((items) + 0) it = (items); \
		size_t left_ = (n); \
		for (; left_ && !(__VA_ARGS__); left_--) \
			it++; \
		left_ ? it : NULL; \
	})
#define array_find(array, it, ...) \
	items_find(array, sizeof(array) / sizeof(*(array)), it, __VA_ARGS__)
#define vec_find(v, it, ...) items_find((v)->items, (v)->count, it, __VA_ARGS__)

#define vec_for_each(v, ptr_type, it) \
	for (ptr_type it = (v)->items; it && it < (v)->items + (v)->count; it++)

#define vec_release(v) \
	do { \
		free((v)->items); \
		(v)->items = NULL; \
		(v)->count = (v)->capacity = 0; \
	} while (0)

/* Sorts by number; many times faster than qsort() on many rows. */
struct radix_row {
	uint64_t key;
	uint32_t value; /* any value; usually the number of a larger row */
};

/* Sorts by key, in ascending order; stable. */
void radix_sort(struct radix_row *rows, size_t count);

/*
 * A hash index from keys to row ids. The rows and their keys live in the caller's table; the index
 * stores only hash and id, so growing never reads a row.
 */

#define INDEX_NONE UINT32_MAX

struct index_slot {
	uint32_t hash, id; /* id INDEX_NONE: empty slot */
};

struct index {
	struct index_slot *slots;
	uint32_t count, capacity; /* capacity is 0 or a power of two */
};

/* Returns true if row `id` of `table` has this key. */
typedef bool index_equal_fn(const void *table, uint32_t id, const void *key);

/*
 * Defines an index_equal_fn for a table with a VEC of rows. `condition` compares the row that a
 * points to with the key that b points to, which have the same type:
 *
 *	INDEX_EQUAL(symbol_equal, struct symbols, rows, a->rva == b->rva && a->module == b->module)
 */
#define INDEX_EQUAL(name, table, rows, condition) \
	static bool name(const void *table_, uint32_t id_, const void *key_) \
	{ \
		const typeof(*((const table *)0)->rows.items) *a = \
			&((const table *)table_)->rows.items[id_]; \
		const typeof(*a) *b = key_; \
\
		return condition; \
	}

/* Defines one whose key is a member of the row. */
#define INDEX_HAS(name, table, rows, member) \
	static bool name(const void *table_, uint32_t id_, const void *key_) \
	{ \
		const typeof(((const table *)0)->rows.items->member) *key = key_; \
\
		return ((const table *)table_)->rows.items[id_].member == *key; \
	}

/* A zeroed struct is an empty index. */
void index_release(struct index *ix);
/* Removes all rows, but keeps the memory. */
void index_clear(struct index *ix);
/* Returns the id of the row with this key, or INDEX_NONE. */
uint32_t index_find(const struct index *ix, uint64_t hash, index_equal_fn *equal, const void *table,
		    const void *key);
/* Adds a row whose key must not be in the index yet. */
void index_add(struct index *ix, uint64_t hash, uint32_t id);
/* Returns the id of the row with this key. Without one, adds it with the id `next`. */
uint32_t index_intern(struct index *ix, uint64_t hash, index_equal_fn *equal, const void *table,
		      const void *key, size_t next);
/* Removes a row; `hash` is its key's. Does nothing if no row has this id. */
void index_remove(struct index *ix, uint64_t hash, uint32_t id);

/* Does not resist adversarial collisions: a flood of equal hashes is slow, never wrong. */
uint64_t hash_bytes(const void *data, size_t size, uint64_t seed);

static inline uint64_t hash_u64(uint64_t value)
{
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93ull;
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93ull;
	value ^= value >> 32;
	return value;
}

static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(hash_u64(a) * 0x9e3779b97f4a7c15ull + b);
}
