/* SPDX-License-Identifier: MIT */
/*
 * Opens a file that a recorded program named, for example a source file in debug information. Its
 * contents end up in the profile, so the program's users must have permission to read it.
 */
#pragma once

#include "lib/base/base.h"

/* Both ids of an unknown user, who may read only files open to everybody. */
#define READER_UNKNOWN UINT32_MAX

struct reader {
	uint32_t uid, gid;
};

/* A zeroed struct is an empty list. */
struct readers {
	VEC(struct reader) rows;
};

void readers_release(struct readers *readers);
/* Adds the reader unless it is already in the list. */
void readers_add(struct readers *readers, struct reader reader);

/* Returned by readers_open(): this process can read the file, but not all readers can. */
#define READERS_REFUSED (-EKEYREJECTED)

/*
 * Opens the regular file as open_regular_named() does: with the thread's own permissions, and again
 * with each reader's ids and no groups; all must get the same file. If the thread cannot switch to
 * a reader's ids, the file and its folders must be open to everybody. `readers` may be NULL for
 * none. Returns a descriptor, READERS_REFUSED or a different negative errno.
 */
int readers_open(const struct readers *readers, int root, const char *path);
