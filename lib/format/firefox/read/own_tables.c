/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/own_tables.h"

#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/firefox/read/cells.h"
#include "lib/model/meaning/categories.h"

/* First version of processed profiles with categories in frames only, not in stacks. */
#define PROCESSED_FRAME_CATEGORIES 53
/* First versions with a list of categories; before, categories were bits. */
#define PROCESSED_CATEGORY_LIST 12
#define GECKO_CATEGORY_LIST 11
/* First versions in which the entries of scripts have no name. */
#define PROCESSED_ENTRIES 17
#define GECKO_ENTRIES 15

struct own_tables *own_tables_new(void)
{
	return xcalloc(1, sizeof(struct own_tables));
}

void own_tables_free(struct own_tables *own)
{
	if (!own)
		return;
	vec_release(&own->modules);
	index_release(&own->module_index);
	vec_release(&own->libs.rows);
	vec_release(&own->frames);
	vec_release(&own->stacks);
	vec_release(&own->sources);
	free(own);
}

int64_t own_number(struct json_cursor *s)
{
	struct json_cursor inside;
	struct span value;
	int64_t number = -1;

	if (json_cursor_null(s))
		return -1;
	json_cursor_value(s, &value);
	inside = json_cursor_within(s, value);
	return json_cursor_i64(&inside, &number) && number >= 0 ? number : -1;
}

static bool module_equal(const void *table, uint32_t id, const void *key)
{
	const struct own_module *a = &((const struct own_tables *)table)->modules.items[id];
	const struct own_module *b = key;

	return a->name == b->name && a->path == b->path && a->id_hash == b->id_hash;
}

module_id own_tables_module(struct import *r, const struct layout_lib *lib)
{
	struct own_tables *own = r->own;
	struct own_module row = {
		.name = strings_intern(&r->profile->strings, lib->name),
		.path = strings_intern(&r->profile->strings, lib->path),
		.id_hash = hash_bytes(lib->build_id, lib->build_id_size, lib->build_id_size),
	};
	uint64_t hash = hash_pair(hash_pair(row.name, row.path), row.id_hash);
	uint32_t id = index_find(&own->module_index, hash, module_equal, own, &row);

	if (id != INDEX_NONE)
		return own->modules.items[id].module;
	row.module = import_module(r, lib);
	index_add(&own->module_index, hash, (uint32_t)own->modules.count);
	vec_push(&own->modules, row);
	return row.module;
}

int own_libs_read(struct import *r, struct json_cursor *s, struct error *err)
{
	struct layout_libs libs = {0};
	int ret = layout_read_libs(&libs, s, err);

	vec_clear(&r->own->libs.rows);
	vec_for_each(&libs.rows, const struct layout_lib *, lib)
		vec_push(&r->own->libs.rows, (struct own_lib){lib->start, lib->end, lib->offset,
							      own_tables_module(r, lib)});
	layout_libs_release(&libs);
	return ret;
}

int own_strings_read(struct import *r, struct json_cursor *s, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct {
		VEC(string_id) rows;
	} strings = {0};

	for (size_t row = 0; json_cursor_element(s, row) && json_cursor_string(s, &text); row++)
		vec_push(&strings.rows,
			 strings_intern_sized(&r->profile->strings, strbuf_text(&text), text.size));
	free(r->strings);
	r->strings = strings.rows.items;
	r->string_count = strings.rows.count;
	return s->failed ? error_text(err, -EBADMSG, "a thread's strings are damaged") : 0;
}

string_id own_label(struct import *r, string_id name)
{
	static const char entry[] = "AutoEntryScript ";
	_cleanup_free_ char *text = NULL;

	if (r->version >= (r->is_gecko ? GECKO_ENTRIES : PROCESSED_ENTRIES) ||
	    !text_starts_with(strings_get(&r->profile->strings, name), entry))
		return name;
	text = xstrdup(strings_get(&r->profile->strings, name) + strlen(entry));
	return strings_intern(&r->profile->strings, text);
}

void own_frames_add(struct import *r, const struct frame *frame, bool are_returns)
{
	struct frames *frames = &r->profile->frames;
	struct own_frame row;
	struct frame caller = *frame;

	row.exact = row.caller = frames_intern(frames, frame);
	if (are_returns && frame->module != NO_MODULE && frame->offset) {
		caller.offset--;
		row.caller = frames_intern(frames, &caller);
	}
	vec_push(&r->own->frames, row);
}

uint8_t own_category(const struct import *r, int64_t category)
{
	static const struct {
		int64_t bit;
		uint8_t category; /* of those that older files have by default */
	} bits[] = {{1 << 4, 1}, {1 << 5, 3},  {1 << 6, 2},  {1 << 7, 6}, {1 << 8, 6},
		    {1 << 9, 7}, {1 << 10, 4}, {1 << 11, 1}, {1 << 12, 1}};
	bool are_bits = r->version < (r->is_gecko ? GECKO_CATEGORY_LIST : PROCESSED_CATEGORY_LIST);

	if (category < 0)
		return CATEGORY_OF_CALLER;
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits) && are_bits; i++) {
		if (bits[i].bit == category)
			return bits[i].category;
	}
	if (are_bits)
		return 1;
	return (size_t)category < r->profile->categories.count ? (uint8_t)category
							       : CATEGORY_OF_CALLER;
}

enum { PREFIX, FRAME, OWN_STACKS_CATEGORY, OWN_STACKS_SUBCATEGORY };

static void own_stacks_add_row(void *ctx)
{
	struct import *r = ctx;

	vec_push(&r->own->stacks, (struct own_stack){-1, -1, -1, -1});
}

static void own_stacks_read_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct import *r = ctx;
	struct own_stack *stack = &r->own->stacks.items[row];
	int64_t number = own_number(s);

	switch (column) {
	case PREFIX:
		stack->prefix = number;
		break;
	case FRAME:
		stack->frame = number;
		break;
	case OWN_STACKS_CATEGORY:
		stack->category = number;
		break;
	default:
		stack->subcategory = number;
	}
}

/* Gives a frame without a category that of its stack, where older writers set it. */
static frame_id with_category(struct import *r, frame_id id, const struct own_stack *stack)
{
	struct frame frame = *frames_get(&r->profile->frames, id);

	if (stack->category < 0 || frame.category != CATEGORY_OF_CALLER ||
	    !r->profile->categories.count)
		return id;
	frame.category = own_category(r, stack->category);
	frame.subcategory = stack->subcategory > 0 && stack->subcategory <= UINT8_MAX
				    ? (uint8_t)stack->subcategory
				    : 0;
	import_categorize(r, &frame);
	return frames_intern(&r->profile->frames, &frame);
}

static int intern_stacks(struct import *r, struct error *err)
{
	struct own_tables *own = r->own;
	struct stacks *stacks = &r->profile->stacks;

	for (size_t i = 0; i < own->stacks.count; i++) {
		const struct own_stack *row = &own->stacks.items[i];
		const struct own_frame *frame;
		stack_id parent = NO_STACK;

		if (row->prefix >= (int64_t)i)
			return error_text(err, -EBADMSG, "stackTable[%zu] comes before its parent",
					  i);
		if (row->frame < 0 || (size_t)row->frame >= own->frames.count)
			return error_text(err, -EBADMSG, "stackTable[%zu] has no frame", i);
		if (row->prefix >= 0)
			parent = r->cause_ids[row->prefix];
		frame = &own->frames.items[row->frame];
		r->cause_ids[i] = stacks_intern(stacks, parent,
						with_category(r, frame->caller, row));
		r->stack_ids[i] = frame->exact == frame->caller
					  ? r->cause_ids[i]
					  : stacks_intern(stacks, parent,
							  with_category(r, frame->exact, row));
	}
	return 0;
}

int own_stacks_read(struct import *r, struct json_cursor *s, struct error *err)
{
	static const char *const all[] = {"prefix", "frame", "category", "subcategory", NULL};
	static const char *const some[] = {"prefix", "frame", NULL};
	bool has_categories = !r->is_gecko && r->version < PROCESSED_FRAME_CATEGORIES;
	const struct grid_reader reader = {has_categories ? all : some, own_stacks_add_row,
					   own_stacks_read_value, NULL, r};
	struct grid grid;

	vec_clear(&r->own->stacks);
	grid_read(&grid, s, &reader);
	if (s->failed)
		return error_text(err, -EBADMSG, "a stackTable is damaged");
	r->stack_count = grid.row_count;
	free(r->stack_ids);
	free(r->cause_ids);
	r->stack_ids = xcalloc(grid.row_count + 1, sizeof(*r->stack_ids));
	r->cause_ids = xcalloc(grid.row_count + 1, sizeof(*r->cause_ids));
	return intern_stacks(r, err);
}

void own_spans_find(struct own_spans *spans, struct json_cursor s)
{
	struct span value;

	*spans = (struct own_spans){0};
	json_for_each_member(&s, key) {
		struct span *to = span_is(&s, key, "stringArray")     ? &spans->strings
				  : span_is(&s, key, "stringTable")   ? &spans->strings
				  : span_is(&s, key, "libs")	      ? &spans->libs
				  : span_is(&s, key, "frameTable")    ? &spans->frames
				  : span_is(&s, key, "stackTable")    ? &spans->stacks
				  : span_is(&s, key, "funcTable")     ? &spans->funcs
				  : span_is(&s, key, "resourceTable") ? &spans->resources
				  : span_is(&s, key, "nativeSymbols") ? &spans->symbols
								      : NULL;

		json_cursor_value(&s, &value);
		if (to && (s.text[value.start] == '[' || s.text[value.start] == '{'))
			*to = value;
	}
}

/* First versions in which ... */
#define VERSION_FILE_NAMES 4 /* functions have files and lines; before, only as part of names */
#define VERSION_COLUMNS 18 /* the last part of a file's name is not a line */
#define VERSION_SYMBOLS 36 /* symbols have a table; before, functions had addresses */
#define VERSION_NUDGED 38 /* callers have the address of their call instead of a return address */
#define VERSION_SHARED_LIBS 41 /* the profile has libraries instead of each thread */

#define RESOURCE_LIBRARY 1
#define PLACE_MAX INT32_MAX

/* Any row of these tables: values of its columns, -1 for missing ones. */
struct own_row {
	int64_t at[12];
};

struct rows {
	VEC(struct own_row) rows;
};

enum { LIB, TYPE };
static const char *const resource_columns[] = {"lib", "type", NULL};

enum { FUNC_NAME, RESOURCE, IS_JS, FILE_NAME, SOURCE, LINE, COLUMN, FUNC_ADDRESS };
static const char *const func_columns[] = {"name",	   "resource", "isJS",
					   "fileName",	   "source",   "lineNumber",
					   "columnNumber", "address",  NULL};

enum { SYMBOL_LIB, SYMBOL_ADDRESS, SYMBOL_NAME, SYMBOL_SIZE };
static const char *const symbol_columns[] = {"libIndex", "address", "name", "functionSize", NULL};

enum { FRAME_FUNC, ADDRESS, SYMBOL, FRAME_LINE, CATEGORY, SUBCATEGORY, DEPTH };
static const char *const frame_columns[] = {"func",	"address",     "nativeSymbol", "line",
					    "category", "subcategory", "inlineDepth",  NULL};

struct thread_tables {
	struct import *r;
	struct rows resources, funcs, symbols, frames;
	VEC(func_id) func_ids;
	VEC(module_id) func_modules; /* by function: the module with its code */
	VEC(symbol_id) symbol_ids; /* of symbols; up to version 35, of functions */
};

static void add_row(void *ctx)
{
	struct rows *rows = ctx;
	struct own_row cells;

	memset(&cells, 0xff, sizeof(cells));
	vec_push(&rows->rows, cells);
}

static void read_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct rows *rows = ctx;
	int64_t *cell = &rows->rows.items[row].at[column];

	if (strchr("tf", json_cursor_peek(s)))
		*cell = import_skip(s);
	else
		*cell = own_number(s);
}

/* A missing table is empty. Columns of old ones may be shorter. */
static int read_rows(const struct import *r, struct span span, const char *const *columns,
		     struct rows *rows, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, span);
	const struct grid_reader reader = {columns, add_row, read_value, NULL, rows};
	struct grid grid;

	if (!span.end)
		return 0;
	grid_read(&grid, &s, &reader);
	return s.failed ? error_text(err, -EBADMSG, "a thread's tables are damaged, at byte %zu",
				     s.at)
			: 0;
}

static string_id string_at(const struct import *r, int64_t row)
{
	return row >= 0 && (size_t)row < r->string_count ? r->strings[row] : NO_STRING;
}

static module_id lib_at(const struct import *r, int64_t row)
{
	const struct own_libs *libs = &r->own->libs;

	return row >= 0 && (size_t)row < libs->rows.count ? libs->rows.items[row].module
							  : NO_MODULE;
}

static module_id resource_module(const struct thread_tables *t, int64_t row)
{
	const struct own_row *resource;

	if (row < 0 || (size_t)row >= t->resources.rows.count)
		return NO_MODULE;
	resource = &t->resources.rows.items[row];
	return resource->at[TYPE] == RESOURCE_LIBRARY ? lib_at(t->r, resource->at[LIB]) : NO_MODULE;
}

static uint32_t place_or_0(int64_t number)
{
	return number > 0 && number <= PLACE_MAX ? (uint32_t)number : 0;
}

static source_file_id source_at(struct import *r, const struct own_row *cells)
{
	struct own_tables *own = r->own;
	string_id name = string_at(r, cells->at[FILE_NAME]);

	if (cells->at[SOURCE] >= 0 && (size_t)cells->at[SOURCE] < own->sources.count)
		name = own->sources.items[cells->at[SOURCE]];
	return name == NO_STRING ? NO_SOURCE_FILE
				 : source_files_intern(&r->profile->source_files, name);
}

/* Cuts ":34" off the end of the text; false without it. */
static bool cut_number(char *text, uint32_t *number)
{
	char *colon = strrchr(text, ':');
	uint64_t value;

	if (!colon || !text_to_u64(colon + 1, 10, &value) || value > PLACE_MAX)
		return false;
	*number = (uint32_t)value;
	*colon = '\0';
	return true;
}

/* "frobnicate (chrome://blargh:34)", or "chrome://blargh:34" for a whole script. */
static void split_name(struct import *r, struct func *func)
{
	struct strings *strings = &r->profile->strings;
	_cleanup_free_ char *name = xstrdup(strings_get(strings, func->name));
	char *open = strrchr(name, '('), *uri = open ? open + 1 : name, *last;
	size_t size = strlen(uri);

	if (open && (open == name || open[-1] != ' ' || !size || uri[size - 1] != ')'))
		return;
	if (open)
		uri[size - 1] = '\0';
	if (!cut_number(uri, &func->line))
		return;
	last = strstr(uri, " -> ");
	for (; last; last = strstr(uri, " -> "))
		uri = last + 4;
	if (open)
		open[-1] = '\0';
	func->file = source_files_intern(&r->profile->source_files, strings_intern(strings, uri));
	func->name = strings_intern(strings, open ? name : uri);
}

/* The line was parsed as part of the file's name, and the column as the line. */
static void move_column(struct import *r, struct func *func)
{
	struct source_files *files = &r->profile->source_files;
	_cleanup_free_ char *path = NULL;
	uint32_t line;

	if (func->file == NO_SOURCE_FILE)
		return;
	path = xstrdup(strings_get(&r->profile->strings, files->rows.items[func->file].path));
	if (!cut_number(path, &line))
		return;
	func->column = func->line;
	func->line = line;
	func->file = source_files_intern(files, strings_intern(&r->profile->strings, path));
}

static int add_func(struct thread_tables *t, const struct own_row *cells, struct error *err)
{
	struct import *r = t->r;
	struct func func = {
		.name = string_at(r, cells->at[FUNC_NAME]),
		.module = resource_module(t, cells->at[RESOURCE]),
		.file = source_at(r, cells),
		.line = place_or_0(cells->at[LINE]),
		.column = place_or_0(cells->at[COLUMN]),
		.is_js = cells->at[IS_JS] > 0,
	};

	if (func.name == NO_STRING)
		return error_text(err, -EBADMSG, "funcTable.name[%zu] points nowhere",
				  t->func_ids.count);
	func.name = own_label(r, func.name);
	if (func.is_js && r->version < VERSION_FILE_NAMES)
		split_name(r, &func);
	if (func.is_js && r->version < VERSION_COLUMNS)
		move_column(r, &func);
	func.is_named = !cells_is_synthetic(strings_get(&r->profile->strings, func.name));
	vec_push(&t->func_modules, func.module);
	vec_push(&t->func_ids, funcs_intern(&r->profile->funcs, &func));
	return 0;
}

static symbol_id add_symbol(struct import *r, module_id module, string_id name, int64_t address,
			    int64_t size)
{
	const struct symbol symbol = {
		.module = module,
		.name = name,
		.rva = address < 0 ? 0 : (uint64_t)address,
		.size = size > 0 ? (uint64_t)size : 0,
	};

	if (module == NO_MODULE || name == NO_STRING)
		return NO_SYMBOL;
	return symbols_intern(&r->profile->symbols, &symbol);
}

static int add_funcs(struct thread_tables *t, struct error *err)
{
	struct import *r = t->r;
	int ret = 0;

	for (size_t i = 0; i < t->funcs.rows.count && !ret; i++) {
		const struct own_row *cells = &t->funcs.rows.items[i];

		ret = add_func(t, cells, err);
		if (!ret && r->version < VERSION_SYMBOLS)
			vec_push(&t->symbol_ids, add_symbol(r, t->func_modules.items[i],
							    string_at(r, cells->at[FUNC_NAME]),
							    cells->at[FUNC_ADDRESS], 0));
	}
	for (size_t i = 0; i < t->symbols.rows.count && !ret && r->version >= VERSION_SYMBOLS;
	     i++) {
		const struct own_row *cells = &t->symbols.rows.items[i];

		vec_push(&t->symbol_ids,
			 add_symbol(r, lib_at(r, cells->at[SYMBOL_LIB]),
				    string_at(r, cells->at[SYMBOL_NAME]), cells->at[SYMBOL_ADDRESS],
				    cells->at[SYMBOL_SIZE]));
	}
	return ret;
}

static int add_frame(struct thread_tables *t, const struct own_row *cells, struct error *err)
{
	struct import *r = t->r;
	int64_t func = cells->at[FRAME_FUNC];
	int64_t symbol = r->version < VERSION_SYMBOLS ? func : cells->at[SYMBOL];
	struct frame frame = {.module = NO_MODULE, .symbol = NO_SYMBOL};

	if (func < 0 || (size_t)func >= t->func_ids.count)
		return error_text(err, -EBADMSG, "frameTable.func points nowhere");
	frame.func = t->func_ids.items[func];
	if (symbol >= 0 && (size_t)symbol < t->symbol_ids.count)
		frame.symbol = t->symbol_ids.items[symbol];
	if (cells->at[ADDRESS] >= 0 && t->func_modules.items[func] != NO_MODULE) {
		frame.module = t->func_modules.items[func];
		frame.offset = (uint64_t)cells->at[ADDRESS];
	}
	frame.line = place_or_0(cells->at[FRAME_LINE]);
	if (cells->at[DEPTH] > 0 && cells->at[DEPTH] <= UINT8_MAX)
		frame.inline_depth = (uint16_t)cells->at[DEPTH];
	if (r->profile->categories.count)
		frame.category = own_category(r, cells->at[CATEGORY]);
	if (frame.category != CATEGORY_OF_CALLER && cells->at[SUBCATEGORY] <= UINT8_MAX)
		frame.subcategory = (uint8_t)(cells->at[SUBCATEGORY] > 0 ? cells->at[SUBCATEGORY]
									 : 0);
	import_categorize(r, &frame);
	own_frames_add(r, &frame, r->version < VERSION_NUDGED);
	return 0;
}

static int add_tables(struct thread_tables *t, const struct own_spans *spans, struct error *err)
{
	struct import *r = t->r;
	struct json_cursor s = json_cursor_within(&r->layout.cursor, spans->stacks);
	int ret = read_rows(r, spans->resources, resource_columns, &t->resources, err);

	if (!ret)
		ret = read_rows(r, spans->funcs, func_columns, &t->funcs, err);
	if (!ret)
		ret = read_rows(r, spans->symbols, symbol_columns, &t->symbols, err);
	if (!ret)
		ret = read_rows(r, spans->frames, frame_columns, &t->frames, err);
	if (!ret)
		ret = add_funcs(t, err);
	vec_clear(&r->own->frames);
	for (size_t i = 0; i < t->frames.rows.count && !ret; i++)
		ret = add_frame(t, &t->frames.rows.items[i], err);
	if (ret)
		return ret;
	if (!spans->stacks.end)
		return error_text(err, -EBADMSG, "a thread has no stackTable");
	return own_stacks_read(r, &s, err);
}

static void thread_tables_release(struct thread_tables *t)
{
	vec_release(&t->resources.rows);
	vec_release(&t->funcs.rows);
	vec_release(&t->symbols.rows);
	vec_release(&t->frames.rows);
	vec_release(&t->func_ids);
	vec_release(&t->func_modules);
	vec_release(&t->symbol_ids);
}

/* Reads the tables of the thread at the cursor. */
static int read_thread_tables(struct import *r, struct json_cursor s, struct error *err)
{
	struct thread_tables t = {.r = r};
	struct own_spans spans;
	int ret = 0;

	own_spans_find(&spans, s);
	if (spans.strings.end && !r->own->has_shared_strings) {
		s = json_cursor_within(&r->layout.cursor, spans.strings);
		ret = own_strings_read(r, &s, err);
	}
	if (spans.libs.end && !ret && r->version < VERSION_SHARED_LIBS) {
		s = json_cursor_within(&r->layout.cursor, spans.libs);
		ret = own_libs_read(r, &s, err);
	}
	if (!ret)
		ret = add_tables(&t, &spans, err);
	thread_tables_release(&t);
	return ret;
}

static void add_source_row(void *ctx)
{
	struct import *r = ctx;

	vec_push(&r->own->sources, NO_STRING);
}

static void read_source(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct import *r = ctx;

	(void)column;
	r->own->sources.items[row] = string_at(r, own_number(s));
}

/* Versions 56 to 59 share strings, and some of them source files. */
static int read_shared(struct import *r, struct error *err)
{
	static const char *const columns[] = {"filename", NULL};
	const struct grid_reader reader = {columns, add_source_row, read_source, NULL, r};
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.shared);
	struct span sources = {0}, value;
	struct grid grid;
	int ret = 0;

	if (!r->layout.shared.end || json_cursor_peek(&s) != '{')
		return 0;
	for (struct span key = {0}; !ret && json_cursor_member(&s, &key);) {
		if (span_is(&s, key, "stringArray")) {
			r->own->has_shared_strings = true;
			ret = own_strings_read(r, &s, err);
			continue;
		}
		json_cursor_value(&s, &value);
		if (span_is(&s, key, "sources"))
			sources = value;
	}
	if (ret || !sources.end || s.text[sources.start] != '{')
		return ret;
	s = json_cursor_within(&r->layout.cursor, sources);
	grid_read(&grid, &s, &reader);
	return s.failed ? error_text(err, -EBADMSG, "shared.sources is damaged") : 0;
}

int import_own_tables(struct import *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.lib_list);
	int ret = 0;

	r->own = own_tables_new();
	r->read_own_tables = read_thread_tables;
	if (r->layout.lib_list.end && json_cursor_peek(&s) == '[')
		ret = own_libs_read(r, &s, err);
	return ret ? ret : read_shared(r, err);
}
