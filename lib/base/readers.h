/* SPDX-License-Identifier: MIT */
/*
 * Opening a file that a recorded program named, as debug information names sources: what is in it
 * ends up in the profile, so it must be one that the program's users can read themselves.
 */
#ifndef PROF_LIB_BASE_READERS_H
#define PROF_LIB_BASE_READERS_H

#include <stdint.h>

#include "lib/base/vec.h"

/* In both ids: nobody knows. Such a reader can read what everybody can. */
#define READER_UNKNOWN UINT32_MAX

struct reader {
	uint32_t uid, gid;
};

/* A zeroed struct is an empty list. */
struct readers {
	VEC(struct reader) rows;
};

void readers_release(struct readers *readers);
/* Adds one that is not there yet. */
void readers_add(struct readers *readers, struct reader reader);

/* What readers_open() returns where we can read the file, but not all readers can. */
#define READERS_REFUSED (-EKEYREJECTED)

/*
 * Opens the regular file as open_regular_named() does, with the thread's own permissions, and again
 * with the ids of each reader and without groups: all must get the same file. Where the thread
 * cannot switch to a reader's ids, the file and its folders must be open to everybody. NULL: no
 * readers. A descriptor, READERS_REFUSED or another negative errno.
 */
int readers_open(const struct readers *readers, int root, const char *path);

#endif
