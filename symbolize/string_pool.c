/* SPDX-License-Identifier: MIT */
#include "symbolize/string_pool.h"

#include <string.h>

#include "symbolize/demangle.h"

/* In a damaged file each of many names can be as long as the file. */
#define MAX_TEXT 16384

static bool equal_source(const void *table, uint32_t id, const void *key)
{
	const struct string_pool *t = table;

	return t->rows.items[id].source == key;
}

uint32_t string_pool_add(struct string_pool *t, const char *text)
{
	struct text row = {.source = text, .id = NO_STRING};
	uint64_t hash = hash_u64((uintptr_t)text);
	uint32_t number;

	if (!text)
		return NO_TEXT;
	number = index_find(&t->index, hash, equal_source, t, text);
	if (number != INDEX_NONE)
		return number;
	if (t->is_mangled && demangle(text, &t->readable)) {
		row.size = (uint32_t)t->readable.size;
		row.text = arena_strndup(&t->arena, t->readable.text, row.size);
	} else {
		row.size = (uint32_t)strnlen(text, MAX_TEXT);
		row.text = arena_strndup(&t->arena, text, row.size);
	}
	number = (uint32_t)t->rows.count;
	vec_push(&t->rows, row);
	index_add(&t->index, hash, number);
	return number;
}

void string_pool_seal(struct string_pool *t)
{
	index_release(&t->index);
	strbuf_release(&t->readable);
}

string_id string_pool_intern(struct string_pool *t, uint32_t number, struct strings *strings)
{
	struct text *row;

	if (number == NO_TEXT)
		return NO_STRING;
	row = &t->rows.items[number];
	if (row->id == NO_STRING)
		row->id = strings_intern_sized(strings, row->text, row->size);
	return row->id;
}

void string_pool_release(struct string_pool *t)
{
	string_pool_seal(t);
	vec_release(&t->rows);
	arena_release(&t->arena);
}
