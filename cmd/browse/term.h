/* SPDX-License-Identifier: MIT */
/*
 * The terminal as a screen of lines. The only file that uses ncurses. The terminal is restored
 * however the program ends.
 */
#pragma once

#include "lib/base/base.h"

/* Text styles. Without colours, some look the same. */
enum term_style {
	TERM_PLAIN,
	TERM_DIM,
	TERM_BOLD,
	TERM_TITLE, /* column headings and the first line */
	TERM_SELECTED,
	TERM_FOUND,
	TERM_ALERT,
	TERM_HOT, /* a large share of the total */
	TERM_WARM,
	TERM_STYLE_COUNT,
};

/* Colours of flame graphs, by the kind of code. */
#define TERM_COLORS 24

/* Keys other than characters. */
enum term_key {
	TERM_KEY_NONE = -1, /* timed out */
	TERM_KEY_UP = 0x110000, /* greater than any character */
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
	TERM_KEY_DELETE, /* deletes the character before the cursor */
	TERM_KEY_RESIZE,
	TERM_KEY_CLICK, /* click at the position returned by term_mouse() */
	TERM_KEY_DOUBLE_CLICK,
	TERM_KEY_PRESS, /* start of a drag */
	TERM_KEY_RELEASE,
	TERM_KEY_WHEEL_UP,
	TERM_KEY_WHEEL_DOWN,
	TERM_KEY_HELP, /* F1 */
};

/* Returns -ENOTTY with err if there is no terminal that can move its cursor. */
int term_open(struct error *err);
void term_close(void);
/* True once a terminating signal has arrived. Stores its number in *signal. */
bool term_is_ended(int *signal);

void term_size(int *rows, int *columns);
bool term_has_colors(void);
/* False if only ASCII can be shown. Other characters are then replaced. */
bool term_is_unicode(void);
/* Returns a Unicode character or an enum term_key. timeout_ms -1: waits forever. */
int term_key(int timeout_ms);
void term_mouse(int *row, int *column);

/* Begins an empty screen. */
void term_begin(void);
/* Shows the screen, sending only the changes. */
void term_end(void);
/*
 * Writes a line of text that is safe to print, cut to `width` columns. With `fills`, the remaining
 * columns get the style as well. Returns the number of columns written.
 */
int term_text(int row, int column, int width, enum term_style style, bool fills, const char *text);
/* Does the same on a coloured background; `color` is below TERM_COLORS. */
void term_block(int row, int column, int width, int color, bool is_selected, const char *text);
/*
 * Draws two cells, one above the other, in one character; -1: no colour. Needs Unicode and colours.
 */
void term_halves(int row, int column, int upper, int lower);
/* Places the text cursor. A negative row hides it. */
void term_cursor(int row, int column);
/* Redraws everything at the next term_end(), after another program has written to the terminal. */
void term_redraw(void);
