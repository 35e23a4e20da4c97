/* SPDX-License-Identifier: MIT */
/*
 * The one way to write a result. Writes to an unnamed file in the target folder, or to a temporary
 * name if the file system has no unnamed files; the file gets its final name only when it is
 * complete. Opens and names files as the invoking user; compresses into one gzip member if asked
 * to. Replaces a symbolic link itself. Writes directly to a device, to a FIFO and through links in
 * /dev or /proc (/dev/stdout, /dev/fd/3). For "-" the caller gives a descriptor.
 */
#ifndef PROF_LIB_BASE_OUTFILE_H
#define PROF_LIB_BASE_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/identity.h"

struct outfile;

struct outfile_options {
	const char *path; /* for messages only if fd is given */
	int fd; /* >= 0: write here (taken over) instead of opening path */
	bool gzip;
	struct identity owner; /* permissions and ownership of the file are this user's */
	const bool *is_cancelled; /* once it is set, atomically, writing fails; NULL: never */
};

/*
 * Opens at once, so that failures come early: a missing folder, no permission, a directory in the
 * file's place. Leaves the final name alone until outfile_commit(). Mode 0600. Opening a FIFO waits
 * for its reader; a signal whose handler lacks SA_RESTART ends the wait with -EINTR.
 */
int outfile_open(struct outfile **out, const struct outfile_options *options, struct error *err);
/* The same for a file at `path` that is not compressed. */
static inline int outfile_open_plain(struct outfile **out, const char *path,
				     const struct identity *owner, struct error *err)
{
	const struct outfile_options options = {.path = path, .fd = -1, .owner = *owner};

	return outfile_open(out, &options, err);
}

/*
 * Writes through a buffer; outfile_commit() returns the first failure. The program must ignore
 * SIGPIPE and SIGXFSZ, or they end it.
 */
void outfile_write(struct outfile *f, const void *data, size_t size);
/* True once a write has failed: going on is pointless. */
bool outfile_failed(const struct outfile *f);
/*
 * Flushes, closes and renames; call once. On failure removes the temporary file; an older file of
 * the final name stays.
 */
int outfile_commit(struct outfile *f, struct error *err);
/* Bytes in the file (after compression); final after outfile_commit(). */
uint64_t outfile_size(const struct outfile *f);
/* False: it is written directly, as several may be, and somebody may read it meanwhile. */
bool outfile_is_placed_at_end(const struct outfile *f);
/* True if both write to the same place: the one committed last would replace the other. */
bool outfile_is_same(const struct outfile *a, const struct outfile *b);
/* Removes the temporary file, too, if outfile_commit() was not called. NULL is fine. */
void outfile_free(struct outfile *f);

#endif
