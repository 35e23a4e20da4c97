/* SPDX-License-Identifier: MIT */
/*
 * The only way to write a result. Writes to an unnamed file in the target folder, or to a temporary
 * name if the file system lacks unnamed files; the file gets its final name only when it is
 * complete. Opens and names files as the invoking user; compresses into one gzip member on request.
 * Replaces a symbolic link itself. Writes directly to a device, to a FIFO and through links in /dev
 * or /proc (/dev/stdout, /dev/fd/3). For "-" the caller passes a descriptor.
 */
#pragma once

#include "lib/base/identity.h"

struct outfile;

struct outfile_options {
	const char *path; /* if fd is given, used only for messages */
	int fd; /* >= 0: write to this descriptor, which is taken over, instead of opening path */
	bool gzip;
	bool keeps_old; /* rename a file that is replaced to NAME.old */
	struct identity owner; /* the user that owns the file, with that user's permissions */
	const bool *is_cancelled; /* once set (atomically), writing fails; NULL: never set */
};

/*
 * Opens at once, so that failures come early: a missing folder, no permission, a directory in place
 * of the file. Leaves the final name alone until outfile_commit(). Mode 0600. Opening a FIFO waits
 * for its reader; a signal whose handler lacks SA_RESTART ends the wait with -EINTR.
 */
int outfile_open(struct outfile **out, const struct outfile_options *options, struct error *err);
/* Does the same for an uncompressed file at `path`. */
static inline int outfile_open_plain(struct outfile **out, const char *path,
				     const struct identity *owner, struct error *err)
{
	const struct outfile_options options = {.path = path, .fd = -1, .owner = *owner};

	return outfile_open(out, &options, err);
}

/* Writes such a file as a whole. */
int outfile_write_plain(const char *path, const struct identity *owner, const void *data,
			size_t size, struct error *err);

/*
 * Writes through a buffer; outfile_commit() returns the first failure. The program must ignore
 * SIGPIPE and SIGXFSZ, which would kill it.
 */
void outfile_write(struct outfile *f, const void *data, size_t size);
/* True once a write has failed: further writes are pointless. */
bool outfile_failed(const struct outfile *f);
/*
 * Flushes, closes and renames; call once. On failure removes the temporary file; an existing file
 * of the final name stays.
 */
int outfile_commit(struct outfile *f, struct error *err);
/* Bytes in the file (after compression); final after outfile_commit(). */
uint64_t outfile_size(const struct outfile *f);
/* False if the file is written directly: other writers may share it, and readers see it grow. */
bool outfile_is_placed_at_end(const struct outfile *f);
/* True if the last commit renamed an older file to NAME.old. */
bool outfile_kept_old(const struct outfile *f);
/* True if both write to the same file: the last commit would replace the other. */
bool outfile_is_same(const struct outfile *a, const struct outfile *b);
/* Removes the temporary file unless outfile_commit() was called. Accepts NULL. */
void outfile_free(struct outfile *f);
