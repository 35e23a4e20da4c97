/* SPDX-License-Identifier: MIT */
/* Strings: strict parsing of numbers, UTF-8, reading whole files. */
#ifndef PROF_LIB_BASE_TEXT_H
#define PROF_LIB_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text in columns of a terminal: letters of East Asia take two, accents none. */

/* The columns that a line takes, which is valid UTF-8 without control characters. */
size_t text_width(const char *text);
/*
 * Copies a line, cut to `width` columns (1 or more) by an ellipsis: at the end, or before the last
 * two fifths, where the end of a name says more. To be freed.
 */
char *text_cut(const char *text, size_t width, bool keeps_end);

/* A command line, split into words as a shell does it, but without anything else of a shell. */

/*
 * Words are separated by blanks; quotes and backslashes work as in a shell. NULL-terminated, to be
 * freed with words_free(); NULL: a quote has no end, or there is no word.
 */
char **words_split(const char *text);
/* NULL is fine. */
void words_free(char **words);

/* Guesses the word that a mistyped one was meant to be. */

/*
 * Counts the letters to add, drop, replace or swap with their neighbour to turn one word into the
 * other. SIZE_MAX if a word has more than 32 bytes.
 */
size_t near_miss_distance(const char *a, const char *b);
/*
 * Returns the nearest candidate, the first of equally near ones; NULL if all are too far for a
 * typo.
 */
const char *near_miss(const char *word, const char *const *candidates, size_t count);

/* The kernel's suffix to the path of an unlinked file; a real file name may end in it, too. */
#define PATH_DELETED " (deleted)"

/* The word for this number. */
const char *text_counted(uint64_t count, const char *one, const char *many);

bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);

/* The whole string is a number of the base, without sign or space; else false. */
bool text_to_u64(const char *text, int base, uint64_t *value);
/* The whole string is a finite decimal number ("2", "0.5"); else false. */
bool text_to_double(const char *text, double *value);
/* Bytes, with an optional suffix K, M or G (powers of 1024); false on overflow or rubbish. */
bool text_to_size(const char *text, uint64_t *size);

/*
 * Reads hexadecimal digits at *at (no prefix) and advances it; false if none or too many.
 */
bool text_scan_hex(const char **at, const char *end, uint64_t *value);
bool text_scan_decimal(const char **at, const char *end, uint64_t *value);

/* Length in bytes of the valid UTF-8 sequence at text (at most size); 0 if it is invalid. */
size_t text_utf8_length(const char *text, size_t size);
/* Decodes one sequence that text_utf8_length() found valid. */
uint32_t text_code_point(const char *text, size_t length);
/*
 * Makes a foreign name safe to print: replaces control and format characters (C0, C1, bidirectional
 * and invisible ones) and bytes that are not UTF-8 by one '?' each, so that the name cannot steer a
 * terminal, add lines or look like another one. The text never grows.
 */
void text_to_line(char *text);

/*
 * Reads a whole (pseudo) file, terminated, at most max bytes; NULL with errno set. The caller frees
 * it.
 */
char *text_read_file(const char *path, size_t max, size_t *size);
char *text_read_fd(int fd, size_t max, size_t *size);

/* "1.2 MB", "312 kB", "87 B": decimal units, for people. */
void text_format_bytes(char *buf, size_t buf_size, uint64_t bytes);

#endif
