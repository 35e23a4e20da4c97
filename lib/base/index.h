/* SPDX-License-Identifier: MIT */
/*
 * A hash index from keys to row ids. The rows and their keys live in the caller's table; the index
 * stores only hash and id, so growing never reads a row.
 */
#pragma once

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
