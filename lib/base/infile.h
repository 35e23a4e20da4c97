/* SPDX-License-Identifier: MIT */
/* The only way to read a file written by outfile: whole, decompressed if it is gzip or zstd. */
#pragma once

#include "lib/base/base.h"

/*
 * Reads fd (borrowed; also a pipe) to its end; `name` is for messages. -EFBIG above `max` inflated
 * bytes, -EBADMSG if compressed data is damaged or cut off. Joins several gzip members and zstd
 * frames, as gunzip and unzstd do. The text is terminated; the caller frees it.
 */
int infile_read(int fd, const char *name, size_t max, char **text, size_t *size, struct error *err);
