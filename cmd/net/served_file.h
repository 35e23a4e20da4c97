/* SPDX-License-Identifier: MIT */
/* The bytes of the profile served to a front-end. */
#pragma once

#include "cmd/options/output_options.h"
#include "lib/base/readers.h"
#include "lib/model/tables/profile.h"

struct served_file {
	int fd; /* never 0 */
	uint64_t size;
	bool is_gzip;
};

/*
 * Opens a file, or converts it to a format that front-ends read. Two files become both sides and
 * their difference; -EXDEV if the difference is undefined. Sets `text` to the uncompressed bytes,
 * which the caller frees.
 */
int served_file_open(struct served_file *f, const char *const *paths, size_t count,
		     const struct output_options *options, char **text, size_t *size,
		     struct error *err);
/*
 * Adds missing sources of scripts to the profile, which was read from `text`. Leaves the file
 * unchanged on failure.
 */
void served_file_add_scripts(struct served_file *f, const struct profile *p,
			     const struct readers *owners, const char *text, size_t size);
/*
 * Writes a page that compares two files. Returns its descriptor, which the caller closes, and sets
 * *size; or a negative errno.
 */
int served_page_of_sides(const char *const *paths, const struct output_options *options,
			 uint64_t *size, struct error *err);
void served_file_close(struct served_file *f);
