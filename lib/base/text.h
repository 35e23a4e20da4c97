/* SPDX-License-Identifier: MIT */
/* Small things about strings: parsing numbers strictly, UTF-8, lines of files. */
#ifndef PROF_LIB_BASE_TEXT_H
#define PROF_LIB_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the kernel adds to the path of a file that was unlinked; a file may be called so, too. */
#define PATH_DELETED " (deleted)"

bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);

/* The whole string is a number of the base, without sign or space; else false. */
bool text_to_u64(const char *text, int base, uint64_t *value);
/* The whole string is a finite decimal number ("2", "0.5"); else false. */
bool text_to_double(const char *text, double *value);
/* Bytes, with an optional suffix K, M or G (powers of 1024); false on overflow or rubbish. */
bool text_to_size(const char *text, uint64_t *size);

/* Hexadecimal digits at *at (no prefix), advancing it; false where there are none or too many. */
bool text_scan_hex(const char **at, const char *end, uint64_t *value);
bool text_scan_decimal(const char **at, const char *end, uint64_t *value);

/* Length in bytes of the valid UTF-8 sequence at text (at most size), 0 where it is invalid. */
size_t text_utf8_length(const char *text, size_t size);
/*
 * Makes a foreign name safe to print: control and format characters (C0, C1, bidirectional and
 * invisible ones) and bytes that are not UTF-8 become one '?' each, so that the name can neither
 * steer a terminal, nor add lines, nor look like another one. Never grows.
 */
void text_to_line(char *text);

/* The whole of a (pseudo) file, terminated; NULL with errno set. At most max bytes are read. */
char *text_read_file(const char *path, size_t max, size_t *size);
char *text_read_fd(int fd, size_t max, size_t *size);

/* "1.2 MB", "312 kB", "87 B": decimal units, for people. */
void text_format_bytes(char *buf, size_t buf_size, uint64_t bytes);

#endif
