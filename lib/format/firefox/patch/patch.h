/* SPDX-License-Identifier: MIT */
/*
 * Adds names to a processed profile that was written earlier, perhaps by another tool on another
 * machine. The unnamed frames become a profile that can be symbolized. The results are put back
 * into the text; all other bytes stay as they were.
 *
 * This works on the text and the places of its parts (layout.h) instead of a struct profile: a file
 * that is read into one and written again loses what struct profile has no place for, and takes on
 * prof's order and spelling.
 *
 *	patch_open() ─► patch_profile() ─► symbolize_profile() ─► patch_apply() ─► patch_write()
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_PATCH_PATCH_H
#define PROF_LIB_FORMAT_FIREFOX_PATCH_PATCH_H

#include "lib/base/error.h"
#include "lib/base/outfile.h"
#include "lib/model/tables/profile.h"

/* Adds texts of source files to a processed profile; all other bytes stay as they were. */

/* Returns the text of the file, which the writer frees, and its size. NULL: none. */
typedef char *source_content_fn(void *ctx, const char *path, size_t *size);

/*
 * Writes the profile in `text` with what `find` has for those of its source files that have no text
 * yet. Returns -EBADMSG if it is not a processed profile or damaged, -ENOTSUP for an unknown
 * version; failures to write stay in `out`.
 */
int contents_write(const char *text, size_t size, source_content_fn *find, void *ctx,
		   struct outfile *out, struct error *err);

struct patch;

/*
 * Takes ownership of the text (from malloc), also on failure. Returns -EBADMSG if it is not a
 * processed profile or damaged, -ENOTSUP for an unknown version. The text is untrusted: memory is
 * bounded by a multiple of its size.
 */
int patch_open(struct patch **out, char *text, size_t size, struct error *err);
/* Accepts NULL. */
void patch_free(struct patch *r);

/*
 * Returns the frames whose function is an address or fun_<hex>, as a profile. Its modules are their
 * libs, without segments: offsets are RVAs, and the caller finds the files. Borrowed.
 */
struct profile *patch_profile(struct patch *r);
/* Another path for the file of a module, or "". */
const char *patch_debug_path(const struct patch *r, module_id module);

/* Number of the module's frames that had a name in the file already. */
size_t patch_named_before(const struct patch *r, module_id module);

/* Returns where it was recorded, "Linux 6.1.0 x86_64" or ""; free it. */
char *patch_os(const struct patch *r);

struct patch_counts {
	size_t unnamed; /* frames asked about, in the old file */
	size_t named; /* of those, frames that now have a real name */
	size_t all, all_named; /* frames of the new file */
	size_t all_fde; /* of these, frames whose function is fun_… */
};

/* Stores the names that the frames of patch_profile() have now. Call once. */
void patch_apply(struct patch *r, struct patch_counts *counts);
/*
 * Writes the file, with meta.symbolicated and the entries of meta.extra as in patch_profile(); they
 * replace equal entries of the file. Failures stay in `out`.
 */
void patch_write(struct patch *r, struct outfile *out);

#endif
