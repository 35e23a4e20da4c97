/* SPDX-License-Identifier: MIT */
/* The one way to read a result of outfile's: the whole file, inflated where it is gzip. */
#ifndef PROF_LIB_BASE_INFILE_H
#define PROF_LIB_BASE_INFILE_H

#include <stddef.h>

#include "lib/base/error.h"

/*
 * Reads fd (borrowed; also a pipe) to its end; `name` is for messages. -EFBIG where there are more
 * than `max` bytes, inflated ones counted, -EBADMSG where the gzip data is damaged or cut off.
 * Several gzip members in a row are one text, as gunzip has it. The text, which is terminated, is
 * the caller's to free.
 */
int infile_read(int fd, const char *name, size_t max, char **text, size_t *size, struct error *err);

#endif
