/* SPDX-License-Identifier: MIT */
#ifndef PROF_BASE_READ_AT_H
#define PROF_BASE_READ_AT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads up to `size` bytes, fewer only at the end of the file. Returns their number or a negative
 * errno; -EINVAL for an offset that no file has.
 */
ssize_t read_at(int fd, void *data, size_t size, uint64_t offset);

#endif
