/* SPDX-License-Identifier: MIT */
/* Opening a file whose name somebody else chose. */
#ifndef PROF_LIB_BASE_OPEN_REGULAR_H
#define PROF_LIB_BASE_OPEN_REGULAR_H

/*
 * For reading. Symbolic links are followed, but what they lead to is looked at before it is opened,
 * because opening a device or a FIFO can have effects or block. A descriptor or a negative errno;
 * -ENXIO where it is no regular file.
 */
int open_regular(const char *path);
/*
 * The same for a name that the recorded program chose. No link of /proc is followed, which would
 * lead to what this process has open. Where `root` is an open folder and not 0, that is "/": no
 * link and no ".." leads out of it, and the path starts there whether it is absolute or not.
 */
int open_regular_named(int root, const char *path);

#endif
