/* SPDX-License-Identifier: MIT */
/* Adds texts of source files to a processed profile; all other bytes stay as they were. */
#ifndef PROF_LIB_FORMAT_FIREFOX_PATCH_CONTENTS_H
#define PROF_LIB_FORMAT_FIREFOX_PATCH_CONTENTS_H

#include "lib/base/error.h"
#include "lib/base/outfile.h"

/* Returns the text of the file, which the writer frees, and its size. NULL: none. */
typedef char *source_content_fn(void *ctx, const char *path, size_t *size);

/*
 * Writes the profile in `text` with what `find` has for those of its source files that have no text
 * yet. Returns -EBADMSG if it is not a processed profile or damaged, -ENOTSUP for an unknown
 * version; failures to write stay in `out`.
 */
int contents_write(const char *text, size_t size, source_content_fn *find, void *ctx,
		   struct outfile *out, struct error *err);

#endif
