/* SPDX-License-Identifier: MIT */
/*
 * The strings of a file: the profile's under their ids, then strings of the file alone, such as
 * titles. Does not modify the profile.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_WRITE_TABLES_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_WRITE_TABLES_H

#include "lib/model/tables/strings.h"

struct file_strings {
	const struct strings *profile;
	struct strings own;
};

void file_strings_release(struct file_strings *t);
string_id file_strings_intern(struct file_strings *t, const char *text);
string_id file_strings_intern_sized(struct file_strings *t, const char *text, size_t size);
/* Valid until the next intern. Returns "" for NO_STRING. */
const char *file_strings_get(const struct file_strings *t, string_id id);
size_t file_strings_size(const struct file_strings *t, string_id id);

#endif
