/* SPDX-License-Identifier: MIT */
/* Closing a file for a while: it is opened again only if it is still the same one. */
#ifndef PROF_LIB_BASE_REOPEN_H
#define PROF_LIB_BASE_REOPEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct reopen {
	char *path;
	dev_t device;
	ino_t inode;
	off_t size;
	int64_t modified_ns;
};

/* False where it has no name any more. */
bool reopen_remember(struct reopen *r, int fd);
/*
 * For reading: by its path, without links, in `root`, an open folder, or in ours where that is 0. A
 * new descriptor, or -ESTALE where another file has that path now, or another negative errno.
 */
int reopen(const struct reopen *r, int root);
void reopen_release(struct reopen *r);

#endif
