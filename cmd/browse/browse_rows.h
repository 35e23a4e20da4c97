/* SPDX-License-Identifier: MIT */
/* Rows of text on the screen: a cursor, columns that keep their places, a search. */
#ifndef PROF_CMD_BROWSE_BROWSE_ROWS_H
#define PROF_CMD_BROWSE_BROWSE_ROWS_H

#include <regex.h>
#include <stdbool.h>

#include "cmd/text/listing.h"
#include "lib/base/error.h"

/* Gives the rows; all get `ctx`. */
struct rows_source {
	void *ctx;
	size_t count;
	/* A number that a row keeps when others come and go; NULL: its place. */
	uint64_t (*id)(void *ctx, size_t row);
	/* The name that is searched for; may be foreign. */
	const char *(*name)(void *ctx, size_t row);
	void (*list)(void *ctx, struct listing *l, size_t first, size_t count);
	/* Share of the row, 0 to 1, for its colour; NULL: none. */
	double (*share)(void *ctx, size_t row);
	/* A mark before names in trees: "+" or "-"; NULL: none. */
	const char *(*mark)(void *ctx, size_t row);
};

struct rows {
	size_t cursor, top; /* rows */
	uint64_t id; /* of the cursor's row */
	bool is_moved; /* the cursor is where a person put it: it follows its row */
	size_t widths[LISTING_COLUMNS_MAX]; /* of columns, which only grow */
	size_t columns; /* of the last listing */
	int height; /* lines of the screen */
	regex_t regex;
	bool has_regex;
	size_t found; /* rows that it finds */
};

void rows_release(struct rows *r);
/* Forgets places of columns and rows: another kind of rows comes. */
void rows_reset(struct rows *r);
/* Sets what is searched for, "" for nothing. -EINVAL with err. */
int rows_search(struct rows *r, const char *expression, struct error *err);
/* Goes to the next row that is found, or the one before. False: none is. */
bool rows_find(struct rows *r, const struct rows_source *s, int direction);
/* Follows the cursor's row after the rows were made anew. */
void rows_follow(struct rows *r, const struct rows_source *s);
void rows_go(struct rows *r, const struct rows_source *s, size_t row);
/* Understands keys of movement, of the arrows, less and vim. False if it is no such key. */
bool rows_key(struct rows *r, const struct rows_source *s, int key);
/* Draws a head and rows into lines [line, line + height). */
void rows_draw(struct rows *r, const struct rows_source *s, int line, int height);

#endif
