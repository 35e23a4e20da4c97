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
