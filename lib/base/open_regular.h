/* SPDX-License-Identifier: MIT */
/* Opens files whose names somebody else chose. */
#ifndef PROF_LIB_BASE_OPEN_REGULAR_H
#define PROF_LIB_BASE_OPEN_REGULAR_H

/*
 * Opens a regular file for reading. Follows symbolic links, but checks their target before opening
 * it, because opening a device or a FIFO can have effects or block. Returns a descriptor or a
 * negative errno; -ENXIO if it is not a regular file.
 */
int open_regular(const char *path);
/* The same for the file that an O_PATH descriptor stands for, which is borrowed. */
int open_regular_place(int place);
/*
 * The same for a name that the recorded program chose. Follows no link of /proc, which would lead
 * to files that this process has open. If `root` is not 0 but an open folder, that is "/": no link
 * and no ".." leads out of it, and even a relative path starts there.
 */
int open_regular_named(int root, const char *path);

#endif
