/* SPDX-License-Identifier: MIT */
/*
 * The one way to write a result: to a file without a name in the same folder, or one with a
 * temporary name where the file system has no such files, that gets the final name only when it is
 * complete, opened and named as the invoking user, compressed as one gzip member where asked for. A
 * symbolic link is itself replaced; a name that is a device or a FIFO is written directly, and so
 * is what a link in /dev or /proc leads to (/dev/stdout, /dev/fd/3). "-" is a descriptor that the
 * caller gives.
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
	const char *path; /* only named in messages where fd is given */
	int fd; /* >= 0: write here (taken over) instead of opening path */
	bool gzip;
	struct identity owner; /* whose permissions and ownership apply */
};

/*
 * Opens at once, so that every refusal comes early: a missing folder, no permission, a directory in
 * the place of the file. The final name is untouched until outfile_commit(). Mode 0600. Opening a
 * FIFO waits for its reader; a signal whose handler lacks SA_RESTART ends that with -EINTR.
 */
int outfile_open(struct outfile **out, const struct outfile_options *options, struct error *err);
/*
 * Buffered; a failure is kept and comes back from outfile_commit(). The program ignores SIGPIPE and
 * SIGXFSZ, or is ended by them.
 */
void outfile_write(struct outfile *f, const void *data, size_t size);
/* Has a write failed already? Then there is no point in going on. */
bool outfile_failed(const struct outfile *f);
/*
 * Writes what is buffered, closes, renames; once. On failure the temporary file is removed and what
 * had the final name before still has it.
 */
int outfile_commit(struct outfile *f, struct error *err);
/* Bytes in the file (after compression); final after outfile_commit(). */
uint64_t outfile_size(const struct outfile *f);
/* Would both put a file in the same place? Whichever is committed last would be all there is. */
bool outfile_is_same(const struct outfile *a, const struct outfile *b);
/* Also removes the temporary file where outfile_commit() was not reached. NULL is fine. */
void outfile_free(struct outfile *f);

#endif
