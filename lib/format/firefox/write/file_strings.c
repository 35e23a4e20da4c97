/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/file_strings.h"

void file_strings_release(struct file_strings *t)
{
	strings_release(&t->own);
}

size_t file_strings_count(const struct file_strings *t)
{
	return t->profile->rows.count + t->own.rows.count;
}

string_id file_strings_intern_sized(struct file_strings *t, const char *text, size_t size)
{
	string_id id = strings_find(t->profile, text, size);

	if (id != NO_STRING)
		return id;
	return (string_id)t->profile->rows.count + strings_intern_sized(&t->own, text, size);
}

string_id file_strings_intern(struct file_strings *t, const char *text)
{
	return file_strings_intern_sized(t, text, strlen(text));
}

const char *file_strings_get(const struct file_strings *t, string_id id)
{
	size_t known = t->profile->rows.count;

	return id < known ? strings_get(t->profile, id)
			  : strings_get(&t->own, id - (string_id)known);
}

size_t file_strings_size(const struct file_strings *t, string_id id)
{
	size_t known = t->profile->rows.count;

	return id < known ? strings_size(t->profile, id)
			  : strings_size(&t->own, id - (string_id)known);
}
