/* SPDX-License-Identifier: MIT */
/* Rows of text on the screen, with a cursor, stable columns and a search. */
#pragma once

#include <regex.h>

#include "cmd/text/listing.h"
#include "lib/base/base.h"

/* Source of the rows. All functions get `ctx`. */
struct rows_source {
	void *ctx;
	size_t count;
	/* Identifies a row while others are added or removed. NULL: by its index. */
	uint64_t (*id)(void *ctx, size_t row);
	/* Returns the name that searches match; untrusted. */
	const char *(*name)(void *ctx, size_t row);
	void (*list)(void *ctx, struct listing *l, size_t first, size_t count);
	/* Returns the row's share, 0 to 1, which determines its colour; NULL: none. */
	double (*share)(void *ctx, size_t row);
	/* Returns the mark before a name in a tree: "+" or "-"; NULL: none. */
	const char *(*mark)(void *ctx, size_t row);
};

struct rows {
	size_t cursor, top; /* row numbers */
	uint64_t id; /* id of the cursor's row */
	bool is_moved; /* the user moved the cursor, so it follows its row */
	size_t widths[LISTING_COLUMNS_MAX]; /* column widths, which only grow */
	size_t columns; /* number of columns in the last listing */
	int height; /* height of the screen in lines */
	regex_t regex;
	bool has_regex;
	size_t found; /* number of matching rows */
};

void rows_release(struct rows *r);
/* Resets cursor and column widths for a different kind of rows. */
void rows_reset(struct rows *r);
/* Sets the search expression, "" for none. Returns -EINVAL with err if it is invalid. */
int rows_search(struct rows *r, const char *expression, struct error *err);
/* Moves the cursor to the next or previous match. False if there is none. */
bool rows_find(struct rows *r, const struct rows_source *s, int direction);
/* Moves the cursor to its row after the rows were rebuilt. */
void rows_follow(struct rows *r, const struct rows_source *s);
void rows_go(struct rows *r, const struct rows_source *s, size_t row);
/* Handles movement keys: arrows, and those of less and vim. False for other keys. */
bool rows_key(struct rows *r, const struct rows_source *s, int key);
/* Draws headings and rows into lines [line, line + height). */
void rows_draw(struct rows *r, const struct rows_source *s, int line, int height);
