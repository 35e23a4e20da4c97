/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/known_functions.h"

#define ROWS_MAX 16384

void known_functions_release(struct known_functions *k)
{
	vec_for_each(&k->rows, struct known_function *, row)
		managed_function_release(&row->function);
	vec_release(&k->rows);
	index_release(&k->index);
}

static uint64_t hash_key(const struct function_key *key)
{
	return hash_pair(hash_pair((uint64_t)key->pid << 32 | key->tid, key->source.object),
			 (uint64_t)key->source.id << 32 | key->number);
}

static bool is_equal(const void *table, uint32_t id, const void *key)
{
	const struct known_functions *k = table;
	const struct function_key *left = &k->rows.items[id].key, *right = key;

	return left->pid == right->pid && left->tid == right->tid &&
	       left->source.object == right->source.object && left->source.id == right->source.id &&
	       left->number == right->number;
}

const struct managed_function *known_functions_find(const struct known_functions *k,
						    const struct function_key *key)
{
	uint32_t id = index_find(&k->index, hash_key(key), is_equal, k, key);

	return id == INDEX_NONE ? NULL : &k->rows.items[id].function;
}

void known_functions_add(struct known_functions *k, const struct function_key *key,
			 const struct managed_function *function)
{
	struct known_function row = {.key = *key};

	if (k->rows.count >= ROWS_MAX)
		known_functions_release(k);
	managed_function_copy(&row.function, function);
	index_add(&k->index, hash_key(key), (uint32_t)k->rows.count);
	vec_push(&k->rows, row);
}
