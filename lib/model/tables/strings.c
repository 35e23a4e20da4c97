/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/strings.h"

struct string_key {
	const char *text;
	size_t size;
};

void strings_release(struct strings *s)
{
	vec_release(&s->text);
	vec_release(&s->rows);
	index_release(&s->index);
}

static bool string_equal(const void *table, uint32_t id, const void *key)
{
	const struct strings *s = table;
	const struct string_key *wanted = key;
	const struct string_row *row = &s->rows.items[id];

	return row->size == wanted->size &&
	       !memcmp(s->text.items + row->offset, wanted->text, wanted->size);
}

/* memcmp() must not receive an empty string's NULL. */
static struct string_key key_of(const char *text, size_t size)
{
	return (struct string_key){size ? text : "", size};
}

static string_id find(const struct strings *s, const struct string_key *key, uint64_t hash)
{
	_Static_assert(INDEX_NONE == NO_STRING, "one of them is not an id");

	return index_find(&s->index, hash, string_equal, s, key);
}

string_id strings_intern_list(struct strings *s, const char *text, size_t size)
{
	const struct string_key key = key_of(text, size);
	uint64_t hash = hash_bytes(key.text, key.size, 0);
	string_id id = find(s, &key, hash);

	if (id != NO_STRING)
		return id;

	struct string_row row = {
		.offset = s->text.count,
		.size = (uint32_t)key.size,
		.hash = (uint32_t)hash,
	};
	/* `text` may be part of an interned string, which moves when the table grows. */
	uintptr_t inside = (uintptr_t)text - (uintptr_t)s->text.items;
	bool is_own = s->text.items && inside < s->text.count;

	vec_reserve(&s->text, s->text.count + key.size + 1);
	memcpy(s->text.items + row.offset, is_own ? s->text.items + inside : key.text, key.size);
	s->text.items[row.offset + key.size] = '\0';
	s->text.count += key.size + 1;

	id = (uint32_t)s->rows.count;
	vec_push(&s->rows, row);
	index_add(&s->index, hash, id);
	return id;
}

void strings_index(struct strings *s)
{
	for (size_t id = 0; id < s->rows.count; id++) {
		struct string_row *row = &s->rows.items[id];
		const struct string_key key = key_of(s->text.items + row->offset, row->size);
		uint64_t hash = hash_bytes(key.text, key.size, 0);

		row->hash = (uint32_t)hash;
		if (find(s, &key, hash) == NO_STRING)
			index_add(&s->index, hash, (uint32_t)id);
	}
}

string_id strings_intern_sized(struct strings *s, const char *text, size_t size)
{
	return strings_intern_list(s, text, size ? strnlen(text, size) : 0);
}

string_id strings_intern(struct strings *s, const char *text)
{
	return strings_intern_sized(s, text, strlen(text));
}

string_id strings_intern_line(struct strings *s, const char *text)
{
	_cleanup_free_ char *line = xstrdup(text);

	text_to_line(line);
	return strings_intern(s, line);
}

string_id strings_find(const struct strings *s, const char *text, size_t size)
{
	const struct string_key key = key_of(text, size ? strnlen(text, size) : 0);

	return find(s, &key, hash_bytes(key.text, key.size, 0));
}

const char *strings_get(const struct strings *s, string_id id)
{
	return id < s->rows.count ? s->text.items + s->rows.items[id].offset : "";
}

size_t strings_size(const struct strings *s, string_id id)
{
	return id < s->rows.count ? s->rows.items[id].size : 0;
}

void string_overlay_release(struct string_overlay *t)
{
	strings_release(&t->own);
}

size_t string_overlay_count(const struct string_overlay *t)
{
	return t->base->rows.count + t->own.rows.count;
}

string_id string_overlay_intern_sized(struct string_overlay *t, const char *text, size_t size)
{
	string_id id = strings_find(t->base, text, size);

	if (id != NO_STRING)
		return id;
	return (string_id)t->base->rows.count + strings_intern_sized(&t->own, text, size);
}

string_id string_overlay_intern(struct string_overlay *t, const char *text)
{
	return string_overlay_intern_sized(t, text, strlen(text));
}

const char *string_overlay_get(const struct string_overlay *t, string_id id)
{
	size_t known = t->base->rows.count;

	return id < known ? strings_get(t->base, id) : strings_get(&t->own, id - (string_id)known);
}

size_t string_overlay_size(const struct string_overlay *t, string_id id)
{
	size_t known = t->base->rows.count;

	return id < known ? strings_size(t->base, id)
			  : strings_size(&t->own, id - (string_id)known);
}
