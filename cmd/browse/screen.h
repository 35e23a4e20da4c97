/* SPDX-License-Identifier: MIT */
/* Views of a profile on the terminal, and the keys that switch between them. */
#pragma once

#include "cmd/browse/flame.h"
#include "cmd/browse/model.h"
#include "cmd/browse/browse_rows.h"
#include "lib/base/readers.h"
#include "lib/model/meaning/titles.h"

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
/* Handles a key. */
void screen_key(struct screen *s, int key);
/* Open the prompt, and handle a key typed into it. */
void screen_ask(struct screen *s, char prompt);
void screen_type(struct screen *s, int key);
/* Moves to the next or previous match. */
void screen_find(struct screen *s, int direction);
/* Fills in the source of the view's rows. */
void screen_rows(struct screen *s, struct rows_source *rows);
/* Draws VIEW_THREADS. */
void screen_draw_threads(struct screen *s, int line, int height);
bool screen_threads_key(struct screen *s, int key);
void screen_list_threads(struct screen *s);
/* Shows lines or instructions of a function. */
void screen_open(struct screen *s, const char *function, enum view view);
