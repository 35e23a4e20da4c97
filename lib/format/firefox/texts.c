/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/texts.h"

void texts_release(struct texts *t)
{
	strings_release(&t->own);
}

size_t texts_count(const struct texts *t)
{
	return t->profile->rows.count + t->own.rows.count;
}

string_id texts_intern_sized(struct texts *t, const char *text, size_t size)
{
	string_id id = strings_find(t->profile, text, size);

	if (id != NO_STRING)
		return id;
	return (string_id)t->profile->rows.count + strings_intern_sized(&t->own, text, size);
}

string_id texts_intern(struct texts *t, const char *text)
{
	return texts_intern_sized(t, text, strlen(text));
}

const char *texts_get(const struct texts *t, string_id id)
{
	size_t known = t->profile->rows.count;

	return id < known ? strings_get(t->profile, id)
			  : strings_get(&t->own, id - (string_id)known);
}

size_t texts_size(const struct texts *t, string_id id)
{
	size_t known = t->profile->rows.count;

	return id < known ? strings_size(t->profile, id)
			  : strings_size(&t->own, id - (string_id)known);
}
