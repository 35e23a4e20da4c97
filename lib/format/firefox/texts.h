/* SPDX-License-Identifier: MIT */
/*
 * The texts of a file: those of the profile, by their ids, and the ones that only the file has,
 * such as titles, with ids behind them. The profile stays as it is.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_TEXTS_H
#define PROF_LIB_FORMAT_FIREFOX_TEXTS_H

#include "lib/profile/strings.h"

struct texts {
	const struct strings *profile;
	struct strings own;
};

void texts_release(struct texts *t);
/* Ids are below this. */
size_t texts_count(const struct texts *t);
string_id texts_intern(struct texts *t, const char *text);
string_id texts_intern_sized(struct texts *t, const char *text, size_t size);
/* Valid until the next intern. "" for NO_STRING. */
const char *texts_get(const struct texts *t, string_id id);
size_t texts_size(const struct texts *t, string_id id);

#endif
