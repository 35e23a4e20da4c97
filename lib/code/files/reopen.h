/* SPDX-License-Identifier: MIT */
/* Closes a file for a while and opens it again only if it is still the same one. */
#ifndef PROF_LIB_CODE_FILES_REOPEN_H
#define PROF_LIB_CODE_FILES_REOPEN_H

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

/* Notes the file's path and identity. False if it has no name any more. */
bool reopen_remember(struct reopen *r, int fd);
/*
 * Opens for reading by the path, without links, in the open folder `root`, or in this process's
 * root if that is 0. Returns a new descriptor, -ESTALE if another file has the path now, or another
 * negative errno.
 */
int reopen(const struct reopen *r, int root);
void reopen_release(struct reopen *r);

#endif
