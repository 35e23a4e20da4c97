/* SPDX-License-Identifier: MIT */
/*
 * The terminal as a screen of lines: the only file that knows ncurses. Whatever ends the program
 * leaves the terminal as it was found.
 */
#ifndef PROF_CMD_BROWSE_TERM_H
#define PROF_CMD_BROWSE_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"

/* Looks of text; without colours some are the same. */
enum term_style {
	TERM_PLAIN,
	TERM_DIM,
	TERM_BOLD,
	TERM_TITLE, /* heads of columns, and the first line */
	TERM_SELECTED,
	TERM_FOUND,
	TERM_ALERT,
	TERM_HOT, /* a large share */
	TERM_WARM,
	TERM_STYLE_COUNT,
};

/* Colours of areas, by what runs there: those of flame graphs. */
#define TERM_COLORS 24

/* Keys besides characters. */
enum term_key {
	TERM_KEY_NONE = -1, /* the time is over */
	TERM_KEY_UP = 0x110000, /* after all characters */
	TERM_KEY_DOWN,
	TERM_KEY_LEFT,
	TERM_KEY_RIGHT,
	TERM_KEY_PAGE_UP,
	TERM_KEY_PAGE_DOWN,
	TERM_KEY_HOME,
	TERM_KEY_END,
	TERM_KEY_ENTER,
	TERM_KEY_ESCAPE,
	TERM_KEY_TAB,
	TERM_KEY_BACK_TAB,
	TERM_KEY_DELETE, /* the character before */
	TERM_KEY_RESIZE,
	TERM_KEY_CLICK, /* at the mouse's place, which term_mouse() tells */
	TERM_KEY_DOUBLE_CLICK,
	TERM_KEY_PRESS, /* begins to drag */
	TERM_KEY_RELEASE,
	TERM_KEY_WHEEL_UP,
	TERM_KEY_WHEEL_DOWN,
	TERM_KEY_HELP, /* F1 */
};

/* -ENOTTY with err: there is no terminal, or one that cannot move its cursor. */
int term_open(struct error *err);
void term_close(void);
/* True once a signal has come that ends the program: its number is in *signal. */
bool term_is_ended(int *signal);

void term_size(int *rows, int *columns);
bool term_has_colors(void);
/* False: only ASCII can be shown, and other characters are replaced. */
bool term_is_unicode(void);
/* Returns a character of Unicode or an enum term_key; waits at most so long, -1: for ever. */
int term_key(int timeout_ms);
void term_mouse(int *row, int *column);

/* Begins a picture, which is empty. */
void term_begin(void);
/* Shows it: only what has changed is sent. */
void term_end(void);
/*
 * Writes a line of text that is safe to print, cut to `width` columns; `fills`: the rest of these
 * gets the style, too. Returns the columns that were written.
 */
int term_text(int row, int column, int width, enum term_style style, bool fills, const char *text);
/* The same on a coloured ground; `color` is below TERM_COLORS. */
void term_block(int row, int column, int width, int color, bool is_selected, const char *text);
/* Two cells one above the other in one, by half blocks; -1: no colour. Needs Unicode and colours.
 */
void term_halves(int row, int column, int upper, int lower);
/* Places the cursor where text is typed; a negative row hides it. */
void term_cursor(int row, int column);
/* Draws everything anew at the next term_end(): something else has written there. */
void term_redraw(void);

#endif
