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
