/* SPDX-License-Identifier: MIT */
#include "cmd/browse/term.h"

#include <langinfo.h>
#include <locale.h>
#include <ncursesw/curses.h>
#include <poll.h>
#include <signal.h>
#include <termios.h>

/* Timeout for the rest of an escape sequence, ms. */
#define ESCAPE_MS 25
/* The first colour pair of areas; lower ones are for styles. */
#define FIRST_PAIR 16
/* The first pair of half blocks: upper and lower colour. */
#define FIRST_HALVES (FIRST_PAIR + TERM_COLORS)

static struct {
	SCREEN *screen;
	bool is_open, has_colors, is_unicode;
	int mouse_row, mouse_column;
	struct termios before;
	chtype styles[TERM_STYLE_COUNT];
} term;

static volatile sig_atomic_t ended;

static void on_end(int number)
{
	ended = number;
}

/*
 * Restores the terminal after a crash without ncurses: leaves the alternate screen, shows the
 * cursor, and turns off attributes and the mouse, with sequences common to all terminals that have
 * these.
 */
static void on_crash(int number)
{
	static const char text[] = "\033[?1000l\033[?1002l\033[?1006l\033[m\033[?25h\033[?1049l";

	tcsetattr(STDIN_FILENO, TCSANOW, &term.before);
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	signal(number, SIG_DFL);
	raise(number);
}

static void handle_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
	const struct sigaction end = {.sa_handler = on_end};
	const struct sigaction crash = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &end, NULL);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		sigaction(crashes[i], &crash, NULL);
	signal(SIGPIPE, SIG_IGN);
}

bool term_is_ended(int *number)
{
	*number = ended;
	return ended;
}

static void set_styles(void)
{
	static const chtype plain[TERM_STYLE_COUNT] = {
		[TERM_DIM] = A_DIM,	     [TERM_BOLD] = A_BOLD,	 [TERM_TITLE] = A_REVERSE,
		[TERM_SELECTED] = A_REVERSE, [TERM_FOUND] = A_UNDERLINE, [TERM_ALERT] = A_BOLD,
		[TERM_HOT] = A_BOLD,	     [TERM_WARM] = A_NORMAL,
	};

	memcpy(term.styles, plain, sizeof(plain));
	if (!term.has_colors)
		return;
	init_pair(1, COLOR_WHITE, COLOR_BLUE);
	init_pair(2, COLOR_BLACK, COLOR_CYAN);
	init_pair(3, COLOR_YELLOW, -1);
	init_pair(4, COLOR_RED, -1);
	init_pair(5, COLOR_CYAN, -1);
	term.styles[TERM_TITLE] = COLOR_PAIR(1) | A_BOLD;
	term.styles[TERM_SELECTED] = COLOR_PAIR(2);
	term.styles[TERM_FOUND] = COLOR_PAIR(5) | A_BOLD;
	term.styles[TERM_ALERT] = COLOR_PAIR(4) | A_BOLD;
	term.styles[TERM_HOT] = COLOR_PAIR(4) | A_BOLD;
	term.styles[TERM_WARM] = COLOR_PAIR(3);
}

/*
 * Returns the terminal's colour of an area: warm for programs, blue for the kernel, grey for waits.
 */
static int color_of(int color)
{
	static const short many[TERM_COLORS] = {208, 214, 172, 178, 220, 209, 173, 215,
						180, 222, 216, 137, 75,	 111, 68,  110,
						39,  74,  250, 246, 114, 150, 176, 141};
	static const short few[TERM_COLORS] = {
		COLOR_YELLOW, COLOR_RED,   COLOR_YELLOW, COLOR_RED,   COLOR_YELLOW,  COLOR_RED,
		COLOR_YELLOW, COLOR_RED,   COLOR_YELLOW, COLOR_RED,   COLOR_YELLOW,  COLOR_RED,
		COLOR_CYAN,   COLOR_BLUE,  COLOR_CYAN,	 COLOR_BLUE,  COLOR_CYAN,    COLOR_BLUE,
		COLOR_WHITE,  COLOR_WHITE, COLOR_GREEN,	 COLOR_GREEN, COLOR_MAGENTA, COLOR_MAGENTA};

	return color < 0 ? -1 : COLORS >= 256 ? many[color] : few[color];
}

static void set_colors(void)
{
	const char *no_color = getenv("NO_COLOR");

	if ((no_color && *no_color) || !has_colors() || start_color() != OK)
		return;
	use_default_colors();
	term.has_colors = COLOR_PAIRS >= FIRST_HALVES;
	for (int i = 0; term.has_colors && i < TERM_COLORS; i++)
		init_pair((short)(FIRST_PAIR + i), COLOR_BLACK, (short)color_of(i));
}

int term_open(struct error *err)
{
	const char *name = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !name || !*name ||
	    tcgetattr(STDIN_FILENO, &term.before))
		return error_text(err, -ENOTTY, "a terminal is required");
	/* Keep the bytes of names unchanged, and numbers in prof's usual format. */
	setlocale(LC_CTYPE, "");
	term.is_unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	term.screen = newterm(NULL, stdout, stdin);
	if (!term.screen || !tigetstr("cup") || tigetstr("cup") == (char *)-1) {
		term_close();
		return error_text(err, -ENOTTY, "the terminal (TERM=%s) cannot move its cursor",
				  name);
	}
	term.is_open = true;
	set_colors();
	set_styles();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	mousemask(ALL_MOUSE_EVENTS, NULL);
	mouseinterval(0);
	handle_signals();
	return 0;
}

void term_close(void)
{
	if (term.screen) {
		endwin();
		delscreen(term.screen);
	}
	term.screen = NULL;
	term.is_open = false;
}

void term_size(int *rows, int *columns)
{
	getmaxyx(stdscr, *rows, *columns);
}

bool term_has_colors(void)
{
	return term.has_colors;
}

bool term_is_unicode(void)
{
	return term.is_unicode;
}

void term_mouse(int *row, int *column)
{
	*row = term.mouse_row;
	*column = term.mouse_column;
}

static int mouse_key(void)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return TERM_KEY_NONE;
	term.mouse_row = event.y;
	term.mouse_column = event.x;
	if (event.bstate & BUTTON4_PRESSED)
		return TERM_KEY_WHEEL_UP;
	if (event.bstate & BUTTON5_PRESSED)
		return TERM_KEY_WHEEL_DOWN;
	if (event.bstate & (BUTTON1_DOUBLE_CLICKED | BUTTON1_TRIPLE_CLICKED))
		return TERM_KEY_DOUBLE_CLICK;
	if (event.bstate & BUTTON1_CLICKED)
		return TERM_KEY_CLICK;
	if (event.bstate & BUTTON1_PRESSED)
		return TERM_KEY_PRESS;
	return event.bstate & BUTTON1_RELEASED ? TERM_KEY_RELEASE : TERM_KEY_NONE;
}

static int function_key(wint_t key)
{
	static const struct {
		wint_t theirs;
		int ours;
	} keys[] = {
		{KEY_UP, TERM_KEY_UP},
		{KEY_DOWN, TERM_KEY_DOWN},
		{KEY_LEFT, TERM_KEY_LEFT},
		{KEY_RIGHT, TERM_KEY_RIGHT},
		{KEY_PPAGE, TERM_KEY_PAGE_UP},
		{KEY_NPAGE, TERM_KEY_PAGE_DOWN},
		{KEY_HOME, TERM_KEY_HOME},
		{KEY_END, TERM_KEY_END},
		{KEY_ENTER, TERM_KEY_ENTER},
		{KEY_BTAB, TERM_KEY_BACK_TAB},
		{KEY_BACKSPACE, TERM_KEY_DELETE},
		{KEY_RESIZE, TERM_KEY_RESIZE},
		{KEY_F(1), TERM_KEY_HELP},
	};

	if (key == KEY_MOUSE)
		return mouse_key();
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (keys[i].theirs == key)
			return keys[i].ours;
	}
	return TERM_KEY_NONE;
}

static int control_key(wint_t key)
{
	switch (key) {
	case '\r':
	case '\n':
		return TERM_KEY_ENTER;
	case '\t':
		return TERM_KEY_TAB;
	case 033:
		return TERM_KEY_ESCAPE;
	case 0177:
	case '\b':
		return TERM_KEY_DELETE;
	case 'F' & 037:
		return TERM_KEY_PAGE_DOWN;
	case 'B' & 037:
		return TERM_KEY_PAGE_UP;
	default:
		return (int)key;
	}
}

/* Reads a key that is available. */
static int take_key(void)
{
	wint_t key;
	int ret;

	timeout(0);
	ret = get_wch(&key);
	if (ret == KEY_CODE_YES)
		return function_key(key);
	return ret == OK ? control_key(key) : TERM_KEY_NONE;
}

int term_key(int timeout_ms)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	int key = take_key();

	if (key != TERM_KEY_NONE || ended)
		return key;
	if (poll(&in, 1, timeout_ms) < 0 && errno != EINTR)
		return TERM_KEY_NONE;
	/* The terminal has closed without sending a signal. */
	if (in.revents & (POLLHUP | POLLERR | POLLNVAL))
		ended = SIGHUP;
	return take_key();
}

void term_begin(void)
{
	erase();
}

void term_redraw(void)
{
	clearok(stdscr, TRUE);
}

void term_cursor(int row, int column)
{
	curs_set(row >= 0);
	if (row >= 0)
		move(row, column);
}

void term_end(void)
{
	refresh();
}

/* Replaces characters missing in the terminal's encoding. */
static char *in_ascii(const char *text)
{
	struct strbuf out = {0};

	for (size_t size; *text; text += size) {
		size = text_utf8_length(text, strlen(text));
		size = size ? size : 1;
		if (size == 1)
			strbuf_addch(&out, *text);
		else if (strncmp(text, "±", size) == 0)
			strbuf_addch(&out, '~');
		else if (strncmp(text, "×", size) == 0)
			strbuf_addch(&out, 'x');
		else if (strncmp(text, "…", size) == 0)
			strbuf_addch(&out, '>');
		else
			strbuf_addch(&out, '?');
	}
	return strbuf_take(&out);
}

static int write_text(int row, int column, int width, bool fills, const char *text)
{
	_cleanup_free_ char *ascii = term.is_unicode ? NULL : in_ascii(text);
	_cleanup_free_ char *cut = NULL;
	int columns, rows, written;

	term_size(&rows, &columns);
	if (row < 0 || row >= rows || column < 0 || column >= columns)
		return 0;
	width = MIN(width, columns - column);
	if (width <= 0)
		return 0;
	cut = text_cut(ascii ? ascii : text, (size_t)width, false);
	if (ascii) {
		free(cut);
		cut = xstrndup(ascii, (size_t)width);
	}
	written = (int)text_width(cut);
	mvaddstr(row, column, cut);
	for (int i = written; fills && i < width; i++)
		mvaddch(row, column + i, ' ');
	return fills ? width : written;
}

int term_text(int row, int column, int width, enum term_style style, bool fills, const char *text)
{
	int written;

	attrset((int)term.styles[style]);
	written = write_text(row, column, width, fills, text);
	attrset(A_NORMAL);
	return written;
}

void term_block(int row, int column, int width, int color, bool is_selected, const char *text)
{
	if (term.has_colors)
		attrset(COLOR_PAIR(FIRST_PAIR + color) | (is_selected ? A_REVERSE | A_BOLD : 0));
	else
		attrset(is_selected ? A_REVERSE | A_BOLD : A_NORMAL);
	write_text(row, column, width, true, text);
	/* Without colours, blocks need an edge. */
	if (!term.has_colors && width > 1)
		mvaddch(row, column + width - 1, '|');
	attrset(A_NORMAL);
}

/* Allocates pairs on demand. Reuses the first ones when all are in use. */
static int halves_pair(int upper, int lower)
{
	static struct {
		int upper, lower;
	} pairs[256];
	static int count, next;
	int room = COLOR_PAIRS - FIRST_HALVES;

	room = room > 256 ? 256 : room;
	for (int i = 0; i < count; i++) {
		if (pairs[i].upper == upper && pairs[i].lower == lower)
			return FIRST_HALVES + i;
	}
	if (room <= 0)
		return 0;
	next = next % room;
	pairs[next].upper = upper;
	pairs[next].lower = lower;
	init_pair((short)(FIRST_HALVES + next), (short)color_of(upper), (short)color_of(lower));
	count = count < room ? count + 1 : room;
	return FIRST_HALVES + next++;
}

void term_halves(int row, int column, int upper, int lower)
{
	int pair = upper < 0 ? halves_pair(lower, upper) : halves_pair(upper, lower);

	attrset(COLOR_PAIR(pair));
	mvaddstr(row, column, upper < 0 ? (lower < 0 ? " " : "▄") : "▀");
	attrset(A_NORMAL);
}
