/* SPDX-License-Identifier: MIT */
#include "cmd/browse/screen.h"

#include "cmd/browse/term.h"
#include "lib/query/pattern.h"

/* Minimum shares of hot and warm rows. */
#define HOT 0.1
#define WARM 0.02
#define GAP 2
/* Below this width of the names, the columns after them are narrowed. */
#define MAIN_MIN 20
/* Narrower screens omit the last column. */
#define WIDE 100
#define WHEEL_ROWS 3

void rows_release(struct rows *r)
{
	if (r->has_regex)
		regfree(&r->regex);
	r->has_regex = false;
}

void rows_reset(struct rows *r)
{
	r->cursor = r->top = 0;
	r->is_moved = false;
	memset(r->widths, 0, sizeof(r->widths));
}

int rows_search(struct rows *r, const char *expression, struct error *err)
{
	regex_t regex;
	int ret = *expression ? pattern_compile(&regex, NULL, expression, err) : 0;

	if (ret)
		return ret;
	rows_release(r);
	r->has_regex = *expression;
	if (r->has_regex)
		r->regex = regex;
	return 0;
}

static bool is_found(const struct rows *r, const struct rows_source *s, size_t row)
{
	const char *name = s->name ? s->name(s->ctx, row) : NULL;

	return r->has_regex && name && regexec(&r->regex, name, 0, NULL, 0) == 0;
}

bool rows_find(struct rows *r, const struct rows_source *s, int direction)
{
	for (size_t i = 1; i <= s->count; i++) {
		size_t at = (r->cursor + (direction > 0 ? i : s->count - i)) % s->count;

		if (is_found(r, s, at)) {
			rows_go(r, s, at);
			return true;
		}
	}
	return false;
}

static void keep_in_sight(struct rows *r, const struct rows_source *s)
{
	size_t height = r->height > 1 ? (size_t)r->height - 1 : 1;

	if (r->cursor >= s->count)
		r->cursor = s->count ? s->count - 1 : 0;
	r->top = MIN(r->top, r->cursor);
	if (r->cursor >= r->top + height)
		r->top = r->cursor - height + 1;
	if (r->top + height > s->count)
		r->top = s->count > height ? s->count - height : 0;
}

void rows_go(struct rows *r, const struct rows_source *s, size_t row)
{
	r->cursor = row;
	keep_in_sight(r, s);
	r->is_moved = r->cursor > 0;
	if (s->id && s->count)
		r->id = s->id(s->ctx, r->cursor);
}

static void rows_move(struct rows *r, const struct rows_source *s, long by)
{
	if (by < 0 && r->cursor < (size_t)-by)
		rows_go(r, s, 0);
	else
		rows_go(r, s, r->cursor + (size_t)by);
}

void rows_follow(struct rows *r, const struct rows_source *s)
{
	size_t offset = r->cursor - r->top;

	for (size_t i = 0; s->id && r->is_moved && i < s->count; i++) {
		if (s->id(s->ctx, i) != r->id)
			continue;
		r->cursor = i;
		r->top = i > offset ? i - offset : 0;
		break;
	}
	keep_in_sight(r, s);
}

bool rows_key(struct rows *r, const struct rows_source *s, int key)
{
	long page = r->height > 2 ? r->height - 2 : 1;
	int row, column;

	switch (key) {
	case TERM_KEY_UP:
	case 'k':
		rows_move(r, s, -1);
		return true;
	case TERM_KEY_DOWN:
	case 'j':
		rows_move(r, s, 1);
		return true;
	case TERM_KEY_PAGE_UP:
	case 'U' & 037:
		rows_move(r, s, -page);
		return true;
	case TERM_KEY_PAGE_DOWN:
	case 'D' & 037:
		rows_move(r, s, page);
		return true;
	case TERM_KEY_HOME:
	case 'g':
		rows_go(r, s, 0);
		return true;
	case TERM_KEY_END:
	case 'G':
		rows_go(r, s, s->count ? s->count - 1 : 0);
		return true;
	case TERM_KEY_WHEEL_UP:
		rows_move(r, s, -WHEEL_ROWS);
		return true;
	case TERM_KEY_WHEEL_DOWN:
		rows_move(r, s, WHEEL_ROWS);
		return true;
	case TERM_KEY_CLICK:
	case TERM_KEY_PRESS:
		term_mouse(&row, &column);
		/* The view begins in line 2, with the column headings. */
		if (row > 2 && r->top + (size_t)row - 3 < s->count)
			rows_go(r, s, r->top + (size_t)row - 3);
		return true;
	default:
		return false;
	}
}

static char *cell_of(const struct listing *l, size_t row, size_t column)
{
	const char *cell = l->cells.items[row * l->column_count + column];
	char *text = xstrdup(cell ? cell : "");

	text_to_line(text);
	return text;
}

/*
 * Returns the column that gets the remaining width: the first text column or, for lines and
 * instructions, which are cut at their end, the last one.
 */
static size_t first_text(const struct listing *l)
{
	size_t i = 0;

	if (l->column_count && !l->columns[0].keeps_end)
		return l->column_count - 1;
	while (i + 1 < l->column_count &&
	       (l->columns[i].type != LISTING_TEXT || !*l->columns[i].name))
		i++;
	return i;
}

static void measure(struct rows *r, const struct listing *l, size_t screen)
{
	size_t rows = l->column_count ? l->depths.count : 0, main = first_text(l), used = 1;
	size_t most = screen / (screen < WIDE ? 6 : 5);

	if (r->columns != l->column_count)
		memset(r->widths, 0, sizeof(r->widths));
	r->columns = l->column_count;
	for (size_t c = 0; c < l->column_count; c++) {
		size_t width = text_width(l->columns[c].name);

		for (size_t row = 0; row < rows && c != main; row++) {
			_cleanup_free_ char *text = cell_of(l, row, c);

			width = text_width(text) > width ? text_width(text) : width;
		}
		if (l->columns[c].type == LISTING_TEXT && width > most)
			width = most;
		r->widths[c] = MAX(r->widths[c], width);
		/* The last column is the least important. */
		if (c > main && c + 1 == l->column_count && c > main + 1 && screen < WIDE)
			r->widths[c] = 0;
		if (c != main && r->widths[c])
			used += r->widths[c] + GAP;
	}
	for (size_t c = l->column_count; c-- > main + 1 && screen < used + MAIN_MIN;) {
		used -= r->widths[c] ? r->widths[c] + GAP : 0;
		r->widths[c] = 0;
	}
	r->widths[main] = screen > used + 8 ? screen - used - 1 : 8;
}

/* Writes a cell, right-aligned unless it is text. */
static void draw_cell(const struct rows *r, const struct listing *l, int line, int at,
		      size_t column, const char *text, enum term_style style)
{
	int width = (int)r->widths[column];
	_cleanup_free_ char *cut = text_cut(text, (size_t)width, l->columns[column].keeps_end);
	int own = (int)text_width(cut);
	bool is_right = l->columns[column].type != LISTING_TEXT;

	term_text(line, is_right && own < width ? at + width - own : at, width, style, false, cut);
}

static void draw_row(const struct rows *r, const struct rows_source *s, const struct listing *l,
		     size_t row, int line, int screen)
{
	size_t number = r->top + row;
	bool is_cursor = number == r->cursor;
	double share = s->share ? s->share(s->ctx, number) : 0;
	enum term_style heat = share >= HOT ? TERM_HOT : share >= WARM ? TERM_WARM : TERM_PLAIN;
	int at = 1;

	if (is_cursor)
		term_text(line, 0, screen, TERM_SELECTED, true, "");
	for (size_t c = 0; c < l->column_count; c++) {
		_cleanup_free_ char *text = cell_of(l, row, c);
		enum term_style style = is_cursor ? TERM_SELECTED : TERM_PLAIN;
		int indent = 0;

		if (!r->widths[c])
			continue;
		if (!is_cursor && l->columns[c].type == LISTING_SHARE)
			style = heat;
		else if (!is_cursor && c == first_text(l) && is_found(r, s, number))
			style = TERM_FOUND;
		else if (!is_cursor && l->columns[c].type == LISTING_TEXT && c != first_text(l))
			style = TERM_DIM;
		if (l->columns[c].is_tree) {
			int most = (int)r->widths[c] * 2 / 3;
			_cleanup_free_ char *whole =
				xasprintf("%s%s", s->mark ? s->mark(s->ctx, number) : "", text);

			indent = (int)l->depths.items[row];
			/* Limit the indentation, to keep names visible deep in a tree. */
			indent = indent > most ? most : indent;
			free(text);
			text = text_cut(whole, r->widths[c] - (size_t)indent,
					l->columns[c].keeps_end);
		}
		draw_cell(r, l, line, at + indent, c, text, style);
		at += (int)r->widths[c] + GAP;
	}
}

void rows_draw(struct rows *r, const struct rows_source *s, int line, int height)
{
	struct listing l = {0};
	int rows, screen, at = 1;
	size_t count;

	r->height = height;
	term_size(&rows, &screen);
	keep_in_sight(r, s);
	count = height > 1 ? (size_t)height - 1 : 0;
	if (r->top + count > s->count)
		count = s->count - r->top;
	s->list(s->ctx, &l, r->top, count);
	measure(r, &l, (size_t)screen);
	term_text(line, 0, screen, TERM_TITLE, true, "");
	for (size_t c = 0; c < l.column_count; c++) {
		if (!r->widths[c])
			continue;
		draw_cell(r, &l, line, at, c, l.columns[c].name, TERM_TITLE);
		at += (int)r->widths[c] + GAP;
	}
	for (size_t i = 0; i < count && i < l.depths.count; i++)
		draw_row(r, s, &l, i, line + 1 + (int)i, screen);
	listing_release(&l);
}
