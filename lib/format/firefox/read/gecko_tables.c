/* SPDX-License-Identifier: MIT */
/*
 * Tables of a thread in a Gecko profile. A frame is a text there: an address, "name (in library)",
 * "function (file:line:column)[source]", or any label.
 */
#include <ctype.h>
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/firefox/read/grid.h"
#include "lib/format/firefox/read/own_tables.h"
#include "lib/model/meaning/categories.h"

#define PLACE_MAX INT32_MAX

enum { LOCATION, LINE, CATEGORY, SUBCATEGORY };
static const char *const columns[] = {"location", "line", "category", "subcategory", NULL};

struct own_row {
	int64_t at[4];
};

struct frame_reader {
	struct import *r;
	VEC(struct own_row) rows;
};

static void add_row(void *ctx)
{
	struct frame_reader *of = ctx;

	vec_push(&of->rows, (struct own_row){{-1, -1, -1, -1}});
}

static void read_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct frame_reader *of = ctx;

	of->rows.items[row].at[column] = own_number(s);
}

static const struct own_lib *find_lib(const struct own_libs *libs, uint64_t address)
{
	size_t count = vec_count_front(&libs->rows, it, it->start <= address);

	/* A library inside of another one is not expected. */
	if (!count || address >= libs->rows.items[count - 1].end)
		return NULL;
	return &libs->rows.items[count - 1];
}

static bool place_address(struct import *r, const char *location, struct func *func,
			  struct frame *frame)
{
	const char *at = location + 2, *end = location + strlen(location);
	const struct own_lib *lib;
	uint64_t address;

	if (!text_starts_with(location, "0x"))
		return false;
	if (!text_scan_hex(&at, end, &address) || at != end)
		return true;
	lib = find_lib(&r->own->libs, address);
	if (!lib)
		return true;
	func->module = frame->module = lib->module;
	frame->offset = address - lib->start + lib->offset;
	return true;
}

/* Returns the part of the text in the parentheses at its end; NULL: it has none there. */
static char *last_parentheses(char *text)
{
	char *open = strrchr(text, '(');
	size_t size = strlen(text);

	if (!open || size < 2 || text[size - 1] != ')' || open == text || open[-1] != ' ')
		return NULL;
	return open + 1;
}

/* Cuts what follows the library: " + 1234" and " (file:34)". */
static void cut_offset(char *text)
{
	char *plus = strstr(text, ") + "), *open;

	if (plus && plus[4] && !plus[4 + strspn(plus + 4, "0123456789")])
		plus[1] = '\0';
	open = last_parentheses(text);
	if (open && strchr(open, ':') && open > text + 2 && open[-3] == ')')
		open[-2] = '\0';
}

/* "name (in library)" */
static bool place_library(struct import *r, const char *location, struct func *func,
			  struct frame *frame)
{
	static const char thunk[] = "non-virtual thunk to ";
	_cleanup_free_ char *text = xstrdup(location);
	struct strings *strings = &r->profile->strings;
	struct layout_lib lib = {.debug_path = "", .arch = ""};
	const char *name = text;
	char *inside, *slash;

	cut_offset(text);
	inside = last_parentheses(text);
	if (!inside || !text_starts_with(inside, "in "))
		return false;
	inside[strlen(inside) - 1] = '\0';
	inside[-2] = '\0';
	if (text_starts_with(name, thunk))
		name += strlen(thunk);
	lib.name = lib.path = inside + strlen("in ");
	slash = strrchr(inside, '/');
	if (slash && slash[1])
		lib.name = slash + 1;
	func->name = strings_intern(strings, name);
	func->module = frame->module = own_tables_module(r, &lib);
	return true;
}

/* Cuts ":34" off the end of the text; false: it does not end so. */
static bool cut_number(char *text, uint32_t *number)
{
	char *colon = strrchr(text, ':');
	uint64_t value;

	if (!colon || colon == text || !text_to_u64(colon + 1, 10, &value) || value > PLACE_MAX)
		return false;
	*number = (uint32_t)value;
	*colon = '\0';
	return true;
}

/* Cuts "[5]" off the end of the text, the row of a source; -1: it does not end so. */
static int64_t cut_source(char *text)
{
	char *open = strrchr(text, '[');
	size_t size = strlen(text);
	uint64_t row;

	if (!open || text[size - 1] != ']')
		return -1;
	text[size - 1] = '\0';
	if (!text_to_u64(open + 1, 10, &row) || row > UINT32_MAX) {
		text[size - 1] = ']';
		return -1;
	}
	*open = '\0';
	return (int64_t)row;
}

static string_id source_name(struct import *r, int64_t row, char *uri)
{
	for (char *next = strstr(uri, " -> "); next; next = strstr(uri, " -> "))
		uri = next + 4;
	if (row >= 0 && (size_t)row < r->own->sources.count &&
	    r->own->sources.items[row] != NO_STRING)
		return r->own->sources.items[row];
	return strings_intern(&r->profile->strings, uri);
}

/* "function (file:line:column)[source]", or without a function: the script as a whole. */
static bool place_script(struct import *r, const char *location, struct func *func)
{
	_cleanup_free_ char *text = xstrdup(location), *root = NULL;
	int64_t source = cut_source(text);
	struct strings *strings = &r->profile->strings;
	char *inside = last_parentheses(text), *uri = inside ? inside : text;
	uint32_t number = 0;
	string_id name;

	if (inside)
		inside[strlen(inside) - 1] = '\0';
	if (!cut_number(uri, &func->line))
		return false;
	if (cut_number(uri, &number)) {
		func->column = func->line;
		func->line = number;
	}
	name = source_name(r, source, uri);
	func->file = source_files_intern(&r->profile->source_files, name);
	func->is_js = true;
	if (inside) {
		inside[-2] = '\0';
		func->name = strings_intern(strings, text);
	} else {
		root = xasprintf("(root scope) %s", strings_get(strings, name));
		func->name = strings_intern(strings, root);
	}
	return true;
}

static void locate(struct import *r, string_id location, struct frame *frame)
{
	_cleanup_free_ char *text = xstrdup(strings_get(&r->profile->strings, location));
	struct func func = {.name = location, .module = NO_MODULE, .file = NO_SOURCE_FILE};
	struct func plain = func;

	plain.name = own_label(r, location);
	if (!place_address(r, text, &func, frame) && !place_library(r, text, &func, frame) &&
	    !place_script(r, text, &func))
		func = plain;
	func.is_named = !cells_is_synthetic(strings_get(&r->profile->strings, func.name));
	frame->func = funcs_intern(&r->profile->funcs, &func);
}

static int add_frame(struct frame_reader *of, const struct own_row *cells, struct error *err)
{
	struct import *r = of->r;
	struct frame frame = {.module = NO_MODULE, .symbol = NO_SYMBOL};

	if (cells->at[LOCATION] < 0 || (size_t)cells->at[LOCATION] >= r->string_count)
		return error_text(err, -EBADMSG, "frameTable.location points nowhere");
	locate(r, r->strings[cells->at[LOCATION]], &frame);
	if (cells->at[LINE] > 0 && cells->at[LINE] <= PLACE_MAX)
		frame.line = (uint32_t)cells->at[LINE];
	if (r->profile->categories.count)
		frame.category = own_category(r, cells->at[CATEGORY]);
	if (frame.category != CATEGORY_OF_CALLER && cells->at[SUBCATEGORY] > 0 &&
	    cells->at[SUBCATEGORY] <= UINT8_MAX)
		frame.subcategory = (uint8_t)cells->at[SUBCATEGORY];
	import_categorize(r, &frame);
	own_frames_add(r, &frame, true);
	return 0;
}

static int read_frames(struct frame_reader *of, struct span span, struct error *err)
{
	struct json_cursor s = json_cursor_within(&of->r->layout.cursor, span);
	const struct grid_reader reader = {columns, add_row, read_value, NULL, of};
	struct grid grid;
	int ret = 0;

	vec_clear(&of->r->own->frames);
	if (!span.end)
		return error_text(err, -EBADMSG, "a thread has no frameTable");
	grid_read(&grid, &s, &reader);
	if (s.failed)
		return error_text(err, -EBADMSG, "a frameTable is damaged, at byte %zu", s.at);
	for (size_t i = 0; i < of->rows.count && !ret; i++)
		ret = add_frame(of, &of->rows.items[i], err);
	return ret;
}

int gecko_read_tables(struct import *r, struct json_cursor s, struct error *err)
{
	struct frame_reader of = {.r = r};
	struct own_spans spans;
	int ret;

	own_spans_find(&spans, s);
	if (!spans.strings.end || !spans.stacks.end)
		return error_text(err, -EBADMSG, "a thread has no stringTable or no stackTable");
	s = json_cursor_within(&r->layout.cursor, spans.strings);
	ret = own_strings_read(r, &s, err);
	if (!ret)
		ret = read_frames(&of, spans.frames, err);
	vec_release(&of.rows);
	if (ret)
		return ret;
	s = json_cursor_within(&r->layout.cursor, spans.stacks);
	return own_stacks_read(r, &s, err);
}
