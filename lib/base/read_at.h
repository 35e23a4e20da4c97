/* SPDX-License-Identifier: MIT */
#ifndef PROF_BASE_READ_AT_H
#define PROF_BASE_READ_AT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads up to `size` bytes, fewer only at the end of the file; none where the offset is beyond what
 * a file can have. Returns their number or a negative errno.
 */
ssize_t read_at(int fd, void *data, size_t size, uint64_t offset);
/* Writes all of it. Returns 0 or a negative errno. */
int write_at(int fd, const void *data, size_t size, uint64_t offset);

#endif
