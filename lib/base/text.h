/* SPDX-License-Identifier: MIT */
/* Text: growing strings, numbers, UTF-8, columns of terminals, words, typing mistakes. */
#pragma once

/* A growing, always terminated string. A zeroed struct is empty (text may then be NULL). */
struct strbuf {
	char *text;
	size_t size, capacity; /* size does not include the terminator */
};

void strbuf_release(struct strbuf *s);
void strbuf_reset(struct strbuf *s);
void strbuf_add(struct strbuf *s, const void *data, size_t size);
void strbuf_adds(struct strbuf *s, const char *text);
void strbuf_addch(struct strbuf *s, char c);
/* Appends a character as UTF-8; U+FFFD in place of half a surrogate pair. */
void strbuf_add_utf8(struct strbuf *s, uint32_t c);
void strbuf_addf(struct strbuf *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "1,234,567" in every locale. */
void strbuf_add_grouped(struct strbuf *s, uint64_t value);
/* Returns the text, "" if nothing was ever added; valid until the next change. */
const char *strbuf_text(const struct strbuf *s);
/* Transfers ownership of the text, never NULL; s is empty afterwards. */
char *strbuf_take(struct strbuf *s);

static inline void strbuf_release_cleanup(struct strbuf *s)
{
	strbuf_release(s);
}

/* Strings: strict parsing of numbers, UTF-8, reading whole files. */

/* Terminal columns of text: East Asian letters take two, accents none. */

/* Returns the columns of a line, which must be valid UTF-8 without control characters. */
size_t text_width(const char *text);
/*
 * Copies a line, shortened to `width` columns (1 or more) by an ellipsis: at the end, or, with
 * keeps_end, before the last two fifths, for names that differ at the end. The caller frees it.
 */
char *text_cut(const char *text, size_t width, bool keeps_end);

/* Splits a command line into words. */

/*
 * Words are separated by blanks; quotes and backslashes work as in a shell. Returns a
 * NULL-terminated list to free with words_free(); NULL for an open quote or without a word.
 */
char **words_split(const char *text);
/* Accepts NULL. */
void words_free(char **words);

/* Guesses the intended word behind a typo. */

/*
 * Returns the edit distance: letters to add, drop, replace or swap with the next one. SIZE_MAX if a
 * word has more than 32 bytes.
 */
size_t near_miss_distance(const char *a, const char *b);
/*
 * Returns the nearest candidate, the first of equally near ones; NULL if all are too far for a
 * typo.
 */
const char *near_miss(const char *word, const char *const *candidates, size_t count);

/*
 * The kernel's suffix to the path of an unlinked file; the name of an existing file may end in it,
 * too.
 */
#define PATH_DELETED " (deleted)"

/* Returns `one` or `many`, depending on the count. */
const char *text_counted(uint64_t count, const char *one, const char *many);

bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);

/* Parses the whole string as a number of the base, without sign or space; else false. */
bool text_to_u64(const char *text, int base, uint64_t *value);
/* Parses the whole string as a finite decimal number ("2", "0.5"); else false. */
bool text_to_double(const char *text, double *value);
/*
 * Parses bytes, with an optional suffix K, M or G (powers of 1024); false on overflow or if
 * malformed.
 */
bool text_to_size(const char *text, uint64_t *size);

/*
 * Reads hexadecimal digits at *at (no prefix) and advances it; false if none or too many.
 */
bool text_scan_hex(const char **at, const char *end, uint64_t *value);
bool text_scan_decimal(const char **at, const char *end, uint64_t *value);

/* Returns the length in bytes of the valid UTF-8 sequence at text (at most size); 0 if invalid. */
size_t text_utf8_length(const char *text, size_t size);
/* Decodes one sequence that text_utf8_length() found valid. */
uint32_t text_code_point(const char *text, size_t length);
/*
 * Makes an untrusted name safe to print: replaces each control and format character (C0, C1,
 * bidirectional and invisible ones) and each byte that is not UTF-8 by one '?', so that the name
 * cannot send terminal escapes, add lines or look like another name. The text never grows.
 */
void text_to_line(char *text);

/*
 * Reads a whole (pseudo) file of at most max bytes as a terminated string; NULL with errno set on
 * failure. The caller frees it.
 */
char *text_read_file(const char *path, size_t max, size_t *size);
char *text_read_fd(int fd, size_t max, size_t *size);

/* "1.2 MB", "312 kB", "87 B": decimal units, for display. */
void text_format_bytes(char *buf, size_t buf_size, uint64_t bytes);
