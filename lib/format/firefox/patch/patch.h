/* SPDX-License-Identifier: MIT */
/*
 * Completes a processed profile that somebody wrote earlier, perhaps another tool on another
 * machine: its unnamed frames become a profile that can be symbolized; what comes of them is put
 * back into the text, of which all else stays byte for byte as it was.
 *
 *	rewrite_open() ─► rewrite_profile() ─► symbolize_profile() ─► rewrite_apply() ─►
 *rewrite_write()
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_PATCH_PATCH_H
#define PROF_LIB_FORMAT_FIREFOX_PATCH_PATCH_H

#include "lib/base/error.h"
#include "lib/base/outfile.h"
#include "lib/profile/profile.h"

struct rewrite;

/*
 * Takes the text (from malloc) over, also on failure. -EBADMSG where it is no processed profile, or
 * a damaged one; -ENOTSUP where it is of a version that is not understood. It is untrusted: memory
 * is bounded by a multiple of its size.
 */
int rewrite_open(struct rewrite **out, char *text, size_t size, struct error *err);
/* NULL is fine. */
void rewrite_free(struct rewrite *r);

/*
 * The frames whose function is an address or fun_<hex>. Modules are the libs they lie in, without
 * segments: offsets are RVAs, whose files are the caller's to find. Borrowed.
 */
struct profile *rewrite_profile(struct rewrite *r);
/* Where else the file of a module may be; "" where nothing is said. */
const char *rewrite_debug_path(const struct rewrite *r, module_id module);

/* Frames of a module that have a name in the file, given by the recorder or by an earlier run. */
size_t rewrite_named_before(const struct rewrite *r, module_id module);

/* "Linux 6.1.0 x86_64", where it was recorded; to be freed, "" where nothing is said. */
char *rewrite_os(const struct rewrite *r);

struct rewrite_counts {
	size_t unnamed; /* frames of the file, as it was, that were asked about */
	size_t named; /* of those, now: with a real name */
	size_t all, all_named; /* frames of the file, as it will be */
	size_t all_fde; /* of these, the ones whose function is fun_… */
};

/* Takes over what is known now about the frames of rewrite_profile(). Once. */
void rewrite_apply(struct rewrite *r, struct rewrite_counts *counts);
/*
 * Writes the whole, with meta.symbolicated and the entries of meta.extra as rewrite_profile() has
 * them: one that the file has already is replaced. Failures stay in `out`.
 */
void rewrite_write(struct rewrite *r, struct outfile *out);

#endif
