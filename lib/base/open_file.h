/* SPDX-License-Identifier: MIT */
/* Opens files whose names are untrusted. */
#pragma once

#include "lib/base/outfile.h"

/*
 * Opens a regular file for reading. Follows symbolic links, but checks their target before opening
 * it, because opening a device or a FIFO can have effects or block. Returns a descriptor or a
 * negative errno; -ENXIO if it is not a regular file.
 */
int open_regular(const char *path);
/* Does the same for the file behind an O_PATH descriptor, which is borrowed. */
int open_regular_place(int place);
/*
 * The same for a name chosen by the recorded program. Follows no link in /proc, which could lead to
 * files that this process has open. If `root` is not 0, it is an open directory that serves as "/":
 * neither links nor ".." can leave it, and even a relative path starts there.
 */
int open_regular_named(int root, const char *path);

/*
 * Reads up to `size` bytes; fewer only at the end of the file, none if the offset is beyond the
 * largest possible file. Returns their number or a negative errno.
 */
ssize_t read_at(int fd, void *data, size_t size, uint64_t offset);
/* Writes all of it. Returns 0 or a negative errno. */
int write_at(int fd, const void *data, size_t size, uint64_t offset);

/* Files in memory: their content can be packed, sent, mapped or read back as text. */

typedef int memory_file_writer(void *ctx, struct outfile *out, struct error *err);

/*
 * Calls write() once. Returns a descriptor, which the caller closes, and sets *size; on failure
 * returns a negative errno with err set. `what` names the content in messages: "the page".
 */
int memory_file_write(const char *what, bool gzip, memory_file_writer *write, void *ctx,
		      uint64_t *size, struct error *err);
/* Does the same for bytes in memory. */
int memory_file_pack(const char *what, const void *data, size_t data_size, uint64_t *size,
		     struct error *err);
/* Sets *text to the content of the file, terminated; the caller frees it. */
int memory_file_read(int fd, const char *what, size_t size, char **text, struct error *err);

/*
 * Opens a file that a recorded program named, for example a source file in debug information. Its
 * contents end up in the profile, so the program's users must have permission to read it.
 */

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
