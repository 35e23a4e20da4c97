/* SPDX-License-Identifier: MIT */
/*
 * A table, or a tree of rows, printed in several formats. Strings are untrusted: every format
 * escapes control characters and its own markup.
 */
#pragma once

#include "lib/base/base.h"

enum listing_type {
	LISTING_TEXT,
	LISTING_NUMBER, /* number in JSON, all ASCII */
	LISTING_SHARE, /* number with a unit, for example; right-aligned */
};

struct listing_column {
	const char *name; /* heading in capitals on display; otherwise the key */
	enum listing_type type;
	bool is_tree; /* text is indented by the depth of the row */
	bool keeps_end; /* long strings are cut in the middle */
};

#define LISTING_COLUMNS_MAX 16

struct listing {
	struct listing_column columns[LISTING_COLUMNS_MAX];
	size_t column_count;
	VEC(char *) cells; /* cells row by row, owned; NULL: unknown */
	VEC(unsigned int) depths; /* depth by row */
	bool is_tree; /* a row's parent is the last row above whose depth is smaller by 1 */
};

void listing_add_column(struct listing *l, const char *name, enum listing_type type);
/* Cuts long strings of all columns in the middle: names of functions and files. */
void listing_keep_ends(struct listing *l);
/* Adds a row. Takes ownership of its cells: column_count of them, from left to right. */
void listing_add_row(struct listing *l, unsigned int depth);
void listing_add_cell(struct listing *l, char *cell);
void listing_release(struct listing *l);

/* Prints columns. Strings are cut to fit lines of `width` if possible; 0: unlimited. */
void listing_print_text(const struct listing *l, size_t width, struct strbuf *out);
void listing_print_markdown(const struct listing *l, struct strbuf *out);
/* Prints a line that is safe to print, wrapped after commas. `width` 0: unlimited. */
void listing_print_line(const char *text, size_t width, struct strbuf *out);
/* Prints a section of a page, as Markdown or text: its heading, which is safe to print, and rows.
 */
void listing_print_heading(const char *heading, bool is_markdown, struct strbuf *out);
/* Prints rows that keep both ends of names, and releases them. */
void listing_print_section(struct listing *l, bool is_markdown, size_t width, struct strbuf *out);
/* Appends a code span. The text must be safe to print. */
void listing_markdown_code(const char *text, struct strbuf *out);
/* Prints RFC 4180, except that lines end with a newline only. Trees have a first column "depth". */
void listing_print_csv(const struct listing *l, struct strbuf *out);
/* Prints an array of objects. In trees, each has a member "children". */
void listing_print_json(const struct listing *l, struct strbuf *out);
/* Appends an ASCII JSON string; null for NULL. Invalid UTF-8 becomes U+FFFD. */
void listing_json_string(const char *text, struct strbuf *out);
/* Appends `before`, then a member of an object: its key, which needs no escaping, and its text. */
void listing_json_text(struct strbuf *out, const char *before, const char *key, const char *text);
/* Does the same with a number; null for one that is unknown or infinite. */
void listing_json_number(struct strbuf *out, const char *before, const char *key, double value);
