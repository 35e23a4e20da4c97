/* SPDX-License-Identifier: MIT */
/*
 * Adds names to a processed profile written earlier, perhaps by another tool on another machine.
 * The unnamed frames become a profile that can be symbolized. The results are inserted into the
 * text; all other bytes stay unchanged.
 *
 * This works on the text and the positions of its parts (layout.h) instead of a struct profile:
 * reading into one and writing it again would lose everything that struct profile cannot represent,
 * and change order and spelling.
 *
 *	patch_open() ─► patch_profile() ─► symbolize_profile() ─► patch_apply() ─► patch_write()
 */
#pragma once

#include "lib/base/outfile.h"
#include "lib/model/tables/profile.h"

/* Adds texts of source files to a processed profile. All other bytes stay unchanged. */

/* Returns the text of the file, to be freed by the caller, and its size. NULL: none. */
typedef char *source_content_fn(void *ctx, const char *path, size_t *size);

/*
 * Writes the profile in `text`, with the results of `find` for source files that lack a text.
 * Returns -EBADMSG if it is damaged or not a processed profile, -ENOTSUP for an unknown version.
 * Write failures stay in `out`.
 */
int contents_write(const char *text, size_t size, source_content_fn *find, void *ctx,
		   struct outfile *out, struct error *err);

struct patch;

/*
 * Takes ownership of the text (from malloc), also on failure. Returns -EBADMSG if it is damaged or
 * not a processed profile, -ENOTSUP for an unknown version. The text is untrusted: memory is
 * bounded by a multiple of its size.
 */
int patch_open(struct patch **out, char *text, size_t size, struct error *err);
/* Accepts NULL. */
void patch_free(struct patch *r);

/*
 * Returns the frames whose function is an address or fun_<hex>, as a profile. Its modules are their
 * libs, without segments: offsets are RVAs, and the caller locates the files. Borrowed.
 */
struct profile *patch_profile(struct patch *r);
/* Returns another path for the module's file, or "". */
const char *patch_debug_path(const struct patch *r, module_id module);

/* Returns the number of the module's frames that already had a name. */
size_t patch_named_before(const struct patch *r, module_id module);

/* Returns the system of the recording, "Linux 6.1.0 x86_64" or ""; free it. */
char *patch_os(const struct patch *r);

struct patch_counts {
	size_t unnamed; /* number of unnamed frames in the old file */
	size_t named; /* number of these that now have a real name */
	size_t all, all_named; /* frames in the new file, and frames with a real name */
	size_t all_fde; /* frames in the new file whose function is fun_… */
};

/* Stores the present names of the frames of patch_profile(). Call once. */
void patch_apply(struct patch *r, struct patch_counts *counts);
/*
 * Writes the file, with meta.symbolicated and with the entries of meta.extra from patch_profile(),
 * which replace equal entries of the file. Failures stay in `out`.
 */
void patch_write(struct patch *r, struct outfile *out);
