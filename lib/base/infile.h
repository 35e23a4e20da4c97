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
/*
 * Does the same, but maps large texts from an unnamed file in /var/tmp, if there can be one, so
 * that infile_pass() keeps them out of memory. Release the text with infile_release().
 */
int infile_map(int fd, const char *name, size_t max, char **text, size_t *size, struct error *err);
/*
 * Notes that a text was read up to `at`: pages of a mapped one may be dropped, and are loaded again
 * on demand. Does nothing for other texts.
 */
void infile_pass(const void *at);
void infile_release(char *text);
