/* SPDX-License-Identifier: MIT */
/*
 * A table, or a tree of rows, that is printed in several formats. Texts may be foreign: every
 * format escapes control characters and its own markup.
 */
#ifndef PROF_CMD_TEXT_LISTING_H
#define PROF_CMD_TEXT_LISTING_H

#include <stdbool.h>

#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

enum listing_type {
	LISTING_TEXT,
	LISTING_NUMBER, /* of ASCII alone, and to JSON a number */
	LISTING_SHARE, /* a number with what belongs to it: right aligned */
};

struct listing_column {
	const char *name; /* for people in capitals, else the key */
	enum listing_type type;
	bool is_tree; /* indented by the depth of the row */
	bool keeps_end; /* texts are cut in their middle */
};

#define LISTING_COLUMNS_MAX 12

struct listing {
	struct listing_column columns[LISTING_COLUMNS_MAX];
	size_t column_count;
	VEC(char *) cells; /* row by row; owned; NULL: nothing is known */
	VEC(unsigned int) depths; /* by row */
	bool is_tree; /* rows are in the one above them that is less deep by 1 */
};

void listing_add_column(struct listing *l, const char *name, enum listing_type type);
/* Cuts texts of all columns in their middle: names of functions and files. */
void listing_keep_ends(struct listing *l);
/* Takes the cells over; a row is column_count of them, added from left to right. */
void listing_add_row(struct listing *l, unsigned int depth);
void listing_add_cell(struct listing *l, char *cell);
void listing_release(struct listing *l);

/* Columns; width 0: as wide as they are, else texts are cut so that lines fit, if they can. */
void listing_print_text(const struct listing *l, size_t width, struct strbuf *out);
void listing_print_markdown(const struct listing *l, struct strbuf *out);
/* A code span; the text must be safe to print. */
void listing_markdown_code(const char *text, struct strbuf *out);
/* RFC 4180, but lines end with a newline alone; trees have a column "depth" first. */
void listing_print_csv(const struct listing *l, struct strbuf *out);
/* An array of objects, of trees with a member "children" each. */
void listing_print_json(const struct listing *l, struct strbuf *out);
/* A JSON string, in ASCII; NULL: null. What is no UTF-8 becomes U+FFFD. */
void listing_json_string(const char *text, struct strbuf *out);

#endif
