/* SPDX-License-Identifier: MIT */
#include "cmd/text/listing.h"

#include <math.h>

/* Blanks between two columns. */
#define GAP 2
/* Minimum width of a truncated text. */
#define TEXT_MIN 12
/* Maximum width of a cell in Markdown, whose pages are limited. */
#define MARKDOWN_CELL 1000

void listing_add_column(struct listing *l, const char *name, enum listing_type type)
{
	l->columns[l->column_count++] = (struct listing_column){.name = name, .type = type};
}

void listing_keep_ends(struct listing *l)
{
	for (size_t i = 0; i < l->column_count; i++)
		l->columns[i].keeps_end = true;
}

void listing_add_row(struct listing *l, unsigned int depth)
{
	vec_push(&l->depths, depth);
}

void listing_add_cell(struct listing *l, char *cell)
{
	vec_push(&l->cells, cell);
}

void listing_release(struct listing *l)
{
	vec_for_each(&l->cells, char **, cell)
		free(*cell);
	vec_release(&l->cells);
	vec_release(&l->depths);
}

static const char *cell_at(const struct listing *l, size_t row, size_t column)
{
	return l->cells.items[row * l->column_count + column];
}

/* Returns the cell in a form that is safe within a line; to be freed. */
static char *printable(const struct listing *l, size_t row, size_t column)
{
	const char *cell = cell_at(l, row, column);
	char *text = xstrdup(cell ? cell : "");

	text_to_line(text);
	if (l->columns[column].is_tree && l->depths.items[row]) {
		char *indented = xasprintf("%*s%s", (int)l->depths.items[row], "", text);

		free(text);
		return indented;
	}
	return text;
}

static void measure(const struct listing *l, size_t *widths)
{
	for (size_t column = 0; column < l->column_count; column++)
		widths[column] = text_width(l->columns[column].name);
	for (size_t row = 0; row < l->depths.count; row++) {
		for (size_t column = 0; column < l->column_count; column++) {
			_cleanup_free_ char *text = printable(l, row, column);

			if (text_width(text) > widths[column])
				widths[column] = text_width(text);
		}
	}
}

/* Returns the total width of the first columns, with texts of no more than `text_max`. */
static size_t total_width(const struct listing *l, const size_t *widths, size_t count,
			  size_t text_max)
{
	size_t total = 1;

	for (size_t i = 0; i < count; i++)
		total += (i ? GAP : 0) + (l->columns[i].type == LISTING_TEXT
						  ? MIN(widths[i], text_max)
						  : widths[i]);
	return total;
}

/* Leaves out the last texts for which there is no room. Returns the number of columns. */
static size_t columns_that_fit(const struct listing *l, size_t width, const size_t *widths)
{
	size_t count = l->column_count;

	while (count > 2 && l->columns[count - 1].type == LISTING_TEXT &&
	       l->columns[count - 2].type == LISTING_TEXT &&
	       total_width(l, widths, count, TEXT_MIN) > width)
		count--;
	return count;
}

/* Truncates the widest text first. */
static void fit(const struct listing *l, size_t width, size_t *widths, size_t count)
{
	while (total_width(l, widths, count, SIZE_MAX) > width) {
		size_t widest = count;

		for (size_t i = 0; i < count; i++) {
			if (l->columns[i].type == LISTING_TEXT && widths[i] > TEXT_MIN &&
			    (widest == count || widths[i] > widths[widest]))
				widest = i;
		}
		if (widest == count)
			return;
		widths[widest]--;
	}
}

static void add_padding(struct strbuf *out, size_t count)
{
	while (count--)
		strbuf_addch(out, ' ');
}

static void add_text_cell(const struct listing *l, size_t column, const char *whole, size_t width,
			  struct strbuf *out)
{
	_cleanup_free_ char *text = text_cut(whole, width ? width : 1,
					     l->columns[column].keeps_end);
	size_t own = text_width(text);

	strbuf_adds(out, column ? "  " : " ");
	if (l->columns[column].type != LISTING_TEXT && own < width)
		add_padding(out, width - own);
	strbuf_adds(out, text);
	if (l->columns[column].type == LISTING_TEXT && own < width && column + 1 < l->column_count)
		add_padding(out, width - own);
}

static void end_line(struct strbuf *out)
{
	while (out->size && out->text[out->size - 1] == ' ')
		out->size--;
	strbuf_addch(out, '\n');
}

void listing_print_text(const struct listing *l, size_t width, struct strbuf *out)
{
	size_t widths[LISTING_COLUMNS_MAX], count = l->column_count;

	measure(l, widths);
	if (width) {
		count = columns_that_fit(l, width, widths);
		fit(l, width, widths, count);
	}
	for (size_t column = 0; column < count; column++)
		add_text_cell(l, column, l->columns[column].name, widths[column], out);
	end_line(out);
	for (size_t row = 0; row < l->depths.count; row++) {
		for (size_t column = 0; column < count; column++) {
			_cleanup_free_ char *text = printable(l, row, column);

			add_text_cell(l, column, text, widths[column], out);
		}
		end_line(out);
	}
}

/* Writes a code span, in which markup has no effect. Bars would end the cell even there. */
void listing_markdown_code(const char *text, struct strbuf *out)
{
	size_t run = 0, longest = 0;

	for (const char *at = text; *at; at++) {
		run = *at == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	for (size_t i = 0; i <= longest; i++)
		strbuf_addch(out, '`');
	strbuf_adds(out, longest ? " " : "");
	for (; *text; text++) {
		if (*text == '|')
			strbuf_addch(out, '\\');
		strbuf_addch(out, *text);
	}
	strbuf_adds(out, longest ? " " : "");
	for (size_t i = 0; i <= longest; i++)
		strbuf_addch(out, '`');
}

static void add_markdown_cell(const struct listing *l, size_t row, size_t column,
			      struct strbuf *out)
{
	_cleanup_free_ char *whole = printable(l, row, column);
	_cleanup_free_ char *text = text_cut(whole, MARKDOWN_CELL, l->columns[column].keeps_end);
	unsigned int depth = l->columns[column].is_tree ? l->depths.items[row] : 0;

	strbuf_addch(out, ' ');
	/* Markdown drops leading blanks. */
	for (unsigned int i = 0; i < depth; i++)
		strbuf_adds(out, "&nbsp;");
	if (l->columns[column].type != LISTING_TEXT)
		strbuf_adds(out, text);
	else if (text[depth])
		listing_markdown_code(text + depth, out);
	strbuf_adds(out, " |");
}

void listing_print_markdown(const struct listing *l, struct strbuf *out)
{
	strbuf_adds(out, "|");
	for (size_t column = 0; column < l->column_count; column++)
		strbuf_addf(out, " %s |", l->columns[column].name);
	strbuf_adds(out, "\n|");
	for (size_t column = 0; column < l->column_count; column++)
		strbuf_adds(out, l->columns[column].type == LISTING_TEXT ? " --- |" : " ---: |");
	strbuf_addch(out, '\n');
	for (size_t row = 0; row < l->depths.count; row++) {
		strbuf_addch(out, '|');
		for (size_t column = 0; column < l->column_count; column++)
			add_markdown_cell(l, row, column, out);
		strbuf_addch(out, '\n');
	}
}

/* Returns the last comma after which the text fits the width, or else the first; NULL: none. */
static const char *find_break(const char *text, size_t width)
{
	const char *found = NULL;

	for (const char *comma = strstr(text, ", "); comma; comma = strstr(comma + 1, ", ")) {
		_cleanup_free_ char *line = xstrndup(text, (size_t)(comma + 1 - text));

		if (found && text_width(line) > width)
			break;
		found = comma;
	}
	return found;
}

void listing_print_line(const char *text, size_t width, struct strbuf *out)
{
	const char *comma;

	while (width && text_width(text) > width && (comma = find_break(text, width))) {
		strbuf_add(out, text, (size_t)(comma + 1 - text));
		strbuf_adds(out, "\n  ");
		text = comma + 2;
	}
	strbuf_addf(out, "%s\n", text);
}

void listing_print_heading(const char *heading, bool is_markdown, struct strbuf *out)
{
	strbuf_addf(out, is_markdown ? "\n### %s\n\n" : "\n%s\n", heading);
}

void listing_print_section(struct listing *l, bool is_markdown, size_t width, struct strbuf *out)
{
	listing_keep_ends(l);
	if (is_markdown)
		listing_print_markdown(l, out);
	else
		listing_print_text(l, width, out);
	listing_release(l);
}

static void add_csv_text(const char *cell, struct strbuf *out)
{
	_cleanup_free_ char *text = xstrdup(cell);

	text_to_line(text);
	/* Spreadsheets would evaluate these as formulas. */
	if (*text && strchr("=+-@", *text))
		strbuf_adds(out, "\"'");
	else
		strbuf_addch(out, '"');
	for (const char *at = text; *at; at++) {
		if (*at == '"')
			strbuf_addch(out, '"');
		strbuf_addch(out, *at);
	}
	strbuf_addch(out, '"');
}

void listing_print_csv(const struct listing *l, struct strbuf *out)
{
	strbuf_adds(out, l->is_tree ? "depth" : "");
	for (size_t column = 0; column < l->column_count; column++)
		strbuf_addf(out, "%s%s", column || l->is_tree ? "," : "", l->columns[column].name);
	strbuf_addch(out, '\n');
	for (size_t row = 0; row < l->depths.count; row++) {
		if (l->is_tree)
			strbuf_addf(out, "%u", l->depths.items[row]);
		for (size_t column = 0; column < l->column_count; column++) {
			const char *cell = cell_at(l, row, column);

			strbuf_adds(out, column || l->is_tree ? "," : "");
			if (cell && l->columns[column].type == LISTING_TEXT)
				add_csv_text(cell, out);
			else if (cell)
				strbuf_adds(out, cell);
		}
		strbuf_addch(out, '\n');
	}
}

/* Returns the length of the prefix that needs no escaping in a JSON string. */
static size_t plain_length(const char *text)
{
	size_t size = 0;

	while (text[size] >= 0x20 && text[size] < 0x7f && text[size] != '"' && text[size] != '\\')
		size++;
	return size;
}

void listing_json_string(const char *text, struct strbuf *out)
{
	size_t left = text ? strlen(text) : 0;

	if (!text) {
		strbuf_adds(out, "null");
		return;
	}
	strbuf_addch(out, '"');
	while (left) {
		size_t plain = plain_length(text);
		size_t size;
		uint32_t code;

		strbuf_add(out, text, plain);
		text += plain;
		left -= plain;
		if (!left)
			break;
		size = text_utf8_length(text, left);
		code = size ? text_code_point(text, size) : 0xfffd;

		if (code == '"' || code == '\\')
			strbuf_addf(out, "\\%c", (char)code);
		else if (code < 0x10000)
			strbuf_addf(out, "\\u%04x", code);
		else
			strbuf_addf(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10),
				    0xdc00 + (code & 0x3ff));
		text += size ? size : 1;
		left -= size ? size : 1;
	}
	strbuf_addch(out, '"');
}

void listing_json_text(struct strbuf *out, const char *before, const char *key, const char *text)
{
	strbuf_addf(out, "%s\"%s\": ", before, key);
	listing_json_string(text, out);
}

void listing_json_number(struct strbuf *out, const char *before, const char *key, double value)
{
	if (isfinite(value))
		strbuf_addf(out, "%s\"%s\": %.10g", before, key, value);
	else
		strbuf_addf(out, "%s\"%s\": null", before, key);
}

static void add_members(const struct listing *l, size_t row, struct strbuf *out)
{
	for (size_t column = 0; column < l->column_count; column++) {
		const char *cell = cell_at(l, row, column);

		strbuf_adds(out, column ? ", \"" : "\"");
		strbuf_adds(out, l->columns[column].name);
		strbuf_adds(out, "\": ");
		if (cell && l->columns[column].type != LISTING_TEXT)
			strbuf_adds(out, cell);
		else
			listing_json_string(cell, out);
	}
}

/* Closes the rows between the depths of a row and of the next one. */
static void close_rows(unsigned int from, unsigned int to, struct strbuf *out)
{
	for (; from > to; from--)
		strbuf_adds(out, "]}");
}

void listing_print_json(const struct listing *l, struct strbuf *out)
{
	strbuf_addch(out, '[');
	for (size_t row = 0; row < l->depths.count; row++) {
		unsigned int depth = l->depths.items[row];
		unsigned int before = row ? l->depths.items[row - 1] : depth;

		/* The previous row stays open for its children. */
		if (row && l->is_tree && depth <= before)
			close_rows(before + 1, depth, out);
		strbuf_adds(out, row && (!l->is_tree || depth <= before) ? ",\n" : "\n");
		strbuf_addch(out, '{');
		add_members(l, row, out);
		strbuf_adds(out, l->is_tree ? ", \"children\": [" : "}");
	}
	if (l->is_tree && l->depths.count)
		close_rows(vec_last(&l->depths) + 1, 0, out);
	strbuf_addch(out, ']');
}
