/* SPDX-License-Identifier: MIT */
/*
 * Completes a processed profile that somebody wrote earlier, perhaps another tool on another
 * machine: its unnamed frames become a profile that can be symbolized; what comes of them is put
 * back into the text, of which all else stays byte for byte as it was.
 *
 * This works on the text and the places of its parts (layout.h), and not on a struct profile: what
 * is read into one and written again has lost what a profile has no place for, and is ordered and
 * spelled as prof does it. Here, bytes that are not touched stay, so that another tool's profile
 * is still that tool's, but with names.
 *
 *	patch_open() ─► patch_profile() ─► symbolize_profile() ─► patch_apply() ─► patch_write()
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_PATCH_PATCH_H
#define PROF_LIB_FORMAT_FIREFOX_PATCH_PATCH_H

#include "lib/base/error.h"
#include "lib/base/outfile.h"
#include "lib/profile/profile.h"

struct patch;

/*
 * Takes the text (from malloc) over, also on failure. -EBADMSG where it is no processed profile, or
 * a damaged one; -ENOTSUP where it is of a version that is not understood. It is untrusted: memory
 * is bounded by a multiple of its size.
 */
int patch_open(struct patch **out, char *text, size_t size, struct error *err);
/* NULL is fine. */
void patch_free(struct patch *r);

/*
 * The frames whose function is an address or fun_<hex>. Modules are the libs they lie in, without
 * segments: offsets are RVAs, whose files are the caller's to find. Borrowed.
 */
struct profile *patch_profile(struct patch *r);
/* Where else the file of a module may be; "" where nothing is said. */
const char *patch_debug_path(const struct patch *r, module_id module);

/* Frames of a module that have a name in the file, given by the recorder or by an earlier run. */
size_t patch_named_before(const struct patch *r, module_id module);

/* "Linux 6.1.0 x86_64", where it was recorded; to be freed, "" where nothing is said. */
char *patch_os(const struct patch *r);

struct patch_counts {
	size_t unnamed; /* frames of the file, as it was, that were asked about */
	size_t named; /* of those, now: with a real name */
	size_t all, all_named; /* frames of the file, as it will be */
	size_t all_fde; /* of these, the ones whose function is fun_… */
};

/* Takes over what is known now about the frames of patch_profile(). Once. */
void patch_apply(struct patch *r, struct patch_counts *counts);
/*
 * Writes the whole, with meta.symbolicated and the entries of meta.extra as patch_profile() has
 * them: one that the file has already is replaced. Failures stay in `out`.
 */
void patch_write(struct patch *r, struct outfile *out);

#endif
