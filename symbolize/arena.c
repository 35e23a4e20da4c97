/* SPDX-License-Identifier: MIT */
#include "symbolize/arena.h"

#define BLOCK_SIZE ((size_t)64 << 10)

void *arena_alloc(struct arena *a, size_t size)
{
	char *start;

	size = (size + 7) & ~(size_t)7;
	if (size > a->size - a->used) {
		a->size = size > BLOCK_SIZE ? size : BLOCK_SIZE;
		a->used = 0;
		vec_push(&a->blocks, xmalloc(a->size));
	}
	start = vec_last(&a->blocks) + a->used;
	a->used += size;
	return start;
}

char *arena_strndup(struct arena *a, const char *text, size_t size)
{
	char *copy = arena_alloc(a, size + 1);

	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

void arena_release(struct arena *a)
{
	vec_for_each(&a->blocks, char **, it)
		free(*it);
	vec_release(&a->blocks);
	a->used = a->size = 0;
}
