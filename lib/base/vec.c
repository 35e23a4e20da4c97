/* SPDX-License-Identifier: MIT */
#include "lib/base/base.h"

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
