/* SPDX-License-Identifier: MIT */
/* Views of a profile on the terminal, and the keys that switch between them. */
#pragma once

#include <regex.h>

#include "cmd/text/listing.h"
#include "cmd/text/query_listing.h"
#include "lib/base/open_file.h"
#include "lib/model/meaning/titles.h"
#include "lib/query/select.h"
#include "lib/query/table.h"
#include "lib/query/tree.h"

/*
 * Data of the views: a profile, its filters, and the resulting rows. Figures equal those of prof
 * report.
 */

/* Forms of presentation. */
enum model_form {
	MODEL_TABLE,
	MODEL_TREE,
	MODEL_INVERTED,
	MODEL_CALLERS, /* callers of a function */
};

struct model {
	struct profile *profile; /* borrowed */
	VEC(struct query_filter) filters; /* the last is active */
	VEC(char *) texts; /* strings of the filters and of `function`; owned */
	enum model_form form;
	enum query_by by;
	enum query_order order;
	const char *function; /* function whose callers are shown */
	double min_share; /* minimum share of nodes in trees */
	struct query query;
	bool has_query;
	struct query_table table; /* for MODEL_TABLE */
	struct query_tree tree; /* for all other forms */
	VEC(uint32_t) nodes; /* tree nodes shown as rows */
	uint64_t *paths; /* by node: hash of the names on the path from the root */
	struct index toggled; /* path hashes of light nodes that are open, and of heavy nodes that
				 are closed */
	VEC(uint64_t) toggled_paths;
};

void model_init(struct model *m);
void model_release(struct model *m);
/* Returns the active filter. */
struct query_filter *model_filter(struct model *m);
/* Activates a filter. Its strings must belong to the model, see model_keep(). */
void model_push(struct model *m, const struct query_filter *filter);
/* Restores the previous filter. False if there is none. */
bool model_undo(struct model *m);
/* Returns a copy of the text that lives as long as the model. */
const char *model_keep(struct model *m, const char *text);
/* Rebuilds the rows after any change. Returns the same errors as query_select(). */
int model_update(struct model *m, struct error *err);

size_t model_count(const struct model *m);
/* Returns a number that identifies the row across rebuilds. */
uint64_t model_id(const struct model *m, size_t row);
/* Returns the name that searches match. It is untrusted: escape a copy before printing. */
const char *model_name(const struct model *m, size_t row);
uint64_t model_self(const struct model *m, size_t row);
uint64_t model_total(const struct model *m, size_t row);
/* Returns the function of the row, or NULL. */
const char *model_function(const struct model *m, size_t row);
/* Fills a listing with rows, beginning with `first`. */
void model_list(const struct model *m, struct listing *l, size_t first, size_t count);
/* Return whether a row of a tree has children, and whether they are shown. */
bool model_has_children(const struct model *m, size_t row);
bool model_is_open(const struct model *m, size_t row);
/* Opens or closes the row. */
void model_toggle(struct model *m, size_t row);
/* Returns the row of its parent; a root is its own. */
size_t model_parent(const struct model *m, size_t row);
/* Formats a filter as options of prof report. */
void model_describe(const struct query_filter *filter, struct strbuf *out);

/* Rows of text on the screen, with a cursor, stable columns and a search. */

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

/*
 * A tree as a flame graph of characters, root first: one level per line, or two with half blocks.
 */

struct flame_box {
	uint32_t node;
	int level, column, width; /* position on the screen, in characters */
};

struct flame {
	VEC(struct flame_box) boxes; /* parents before children */
	size_t cursor; /* index of a box */
	uint64_t cursor_path, zoom_path; /* path hashes as in struct model; 0: none */
	uint32_t zoom; /* node; QUERY_NO_NODE: the whole tree */
	int top; /* first level on the screen */
	int levels; /* number of levels */
	int line, height, columns; /* position and size on the screen */
	bool is_dense; /* drawn with half blocks, without names */
};

/* Lays out the model's tree. */
void flame_make(struct flame *f, const struct model *m, int columns);
void flame_draw(struct flame *f, const struct model *m, int line, int height);
/* Handles a key. Returns false for keys that flame graphs do not use. */
bool flame_key(struct flame *f, const struct model *m, int key);
/* Moves the cursor to the next box with a matching name. False if there is none. */
bool flame_find(struct flame *f, const struct model *m, bool (*is_found)(void *ctx, const char *),
		void *ctx, int direction);
/* Returns the node under the cursor, QUERY_NO_NODE without one. */
uint32_t flame_node(const struct flame *f);

enum view {
	VIEW_FUNCTIONS, /* a table by any key */
	VIEW_TREE,
	VIEW_INVERTED,
	VIEW_FLAME,
	VIEW_THREADS, /* threads over time */
	VIEW_LINES, /* source lines of a function */
	VIEW_ASSEMBLY,
	VIEW_DIFFERENCE, /* difference between two files */
	VIEW_COUNT,
};

struct screen;

/* Source of the profile; all functions get `ctx`. */
struct screen_source {
	void *ctx;
	const char *command; /* "top" */
	const char *path; /* path for prof report; NULL: not a file */
	struct reader writer; /* user who wrote the file */
	const char *const *debug_dirs; /* folders of --debug-dir, NULL-terminated; may be NULL */
	int period_ms; /* time between updates; 0: static profile */
	/* Updates the screen's model, unless `is_frozen`. False if there will be no more data. */
	bool (*renew)(void *ctx, struct screen *s, bool is_frozen);
	/* Appends the text of the first line that follows the selection. */
	void (*describe)(void *ctx, const struct query *q, struct strbuf *out);
	/*
	 * Lists the differences between two files and appends a line about them; NULL if there is
	 * only one file. Returns -EINVAL or -ENODATA with err.
	 */
	int (*compare)(void *ctx, struct screen *s, struct listing *l, struct strbuf *line,
		       struct error *err);
	/* Switches to the other file. */
	void (*change_side)(void *ctx, struct screen *s);
	/* Lengthens or shortens the window of a live view; NULL: not a live view. */
	void (*stretch)(void *ctx, int seconds);
};

struct screen {
	const struct screen_source *source;
	struct model model;
	struct rows rows[VIEW_COUNT];
	struct flame flame;
	enum view view, before;
	struct listing detail; /* for VIEW_LINES and VIEW_ASSEMBLY */
	struct listing difference; /* for VIEW_DIFFERENCE */
	struct strbuf difference_line;
	char *detail_title; /* owned */
	const char *detail_function; /* owned by the model */
	VEC(thread_id) threads; /* for VIEW_THREADS, busiest first */
	struct thread_titles titles; /* for VIEW_THREADS */
	uint64_t range_from, range_until; /* selected range in ns; both 0: none */
	int column; /* cursor position on the time axis */
	char prompt; /* '/' or ':' while the user types; 0: no prompt */
	struct strbuf typed;
	struct strbuf message;
	bool is_frozen, has_help, is_over; /* is_over: no more data will come */
	int help_top;
	bool is_done;
};

/* Runs the screen until the user, a signal or the source ends it. Returns the exit status. */
int screen_run(struct screen *s, const struct screen_source *source);
void screen_init(struct screen *s);
void screen_release(struct screen *s);

/* Rebuilds the rows from the model's settings. An error becomes the message. */
void screen_update(struct screen *s);
/* True if the view has something to show. */
bool screen_has(const struct screen *s, enum view view);
void screen_show(struct screen *s, enum view view);
void screen_say(struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void screen_key(struct screen *s, int key);
/* Open the prompt, and handle a key typed into it. */
void screen_ask(struct screen *s, char prompt);
void screen_type(struct screen *s, int key);
/* Moves to the next or previous match. */
void screen_find(struct screen *s, int direction);
void screen_rows(struct screen *s, struct rows_source *rows);
void screen_draw_threads(struct screen *s, int line, int height);
bool screen_threads_key(struct screen *s, int key);
void screen_list_threads(struct screen *s);
/* Shows lines or instructions of a function. */
void screen_open(struct screen *s, const char *function, enum view view);
