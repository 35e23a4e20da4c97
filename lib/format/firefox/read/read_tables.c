/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/read_tables.h"

#include "lib/base/json/cursor.h"
#include "lib/format/firefox/read/own_tables.h"
#include "lib/model/meaning/categories.h"

/* First versions in which ... */
#define VERSION_SYMBOLS 36 /* symbols have a table; earlier, functions had addresses */
#define VERSION_NUDGED 38 /* callers have the address of the call instead of a return address */
#define VERSION_SHARED_LIBS 41 /* libraries belong to the profile instead of each thread */
#define VERSION_FRAME_CATEGORIES 53 /* frames instead of stacks have categories */

#define RESOURCE_LIBRARY 1

void lib_ids_release(struct lib_ids *ids)
{
	vec_for_each(&ids->rows, struct lib_id *, row) {
		free(row->debug_name);
		free(row->breakpad_id);
	}
	vec_release(&ids->rows);
}

static void read_lib(struct lib_ids *ids, struct json_cursor *s)
{
	struct lib_id row = {0};

	json_for_each_member_if_any(s, key) {
		if (span_is(s, key, "debugName") && !row.debug_name)
			row.debug_name = json_cursor_text(s);
		else if (span_is(s, key, "breakpadId") && !row.breakpad_id)
			row.breakpad_id = json_cursor_text(s);
	}
	if (!row.debug_name)
		row.debug_name = xstrdup("");
	if (!row.breakpad_id)
		row.breakpad_id = xstrdup("");
	vec_push(&ids->rows, row);
}

/* Reads the first of "initialSelectedThreads". */
static void read_meta(struct lib_ids *ids, struct json_cursor *s)
{
	json_for_each_member_if_any(s, key) {
		int64_t number;

		if (!span_is(s, key, "initialSelectedThreads") || json_cursor_peek(s) != '[')
			continue;
		json_for_each_element(s, i) {
			if (!i && json_cursor_peek(s) != '[' && json_cursor_i64(s, &number))
				ids->first_thread = number > 0 ? (uint64_t)number : 0;
		}
	}
}

void lib_ids_read(struct lib_ids *ids, const char *text, size_t size)
{
	struct json_cursor s;

	json_cursor_init(&s, text, size);
	json_for_each_member(&s, key) {
		if (span_is(&s, key, "meta")) {
			read_meta(ids, &s);
			continue;
		}
		if (!span_is(&s, key, "libs") || json_cursor_peek(&s) != '[')
			continue;
		json_for_each_element(&s, i)
			read_lib(ids, &s);
		return;
	}
}

module_id import_module(struct import *r, const struct layout_lib *lib)
{
	r->counts->unread[UNREAD_BUILD_IDS] += lib->has_breakpad_id;
	return layout_lib_add(lib, r->profile);
}

static string_id string_at(const struct import *r, int64_t row)
{
	return row >= 0 && (size_t)row < r->string_count ? r->strings[row] : NO_STRING;
}

static module_id lib_at(const struct import *r, int64_t row)
{
	const struct own_libs *libs = &r->own.libs;

	return row >= 0 && (size_t)row < libs->rows.count ? libs->rows.items[row].module
							  : NO_MODULE;
}

/* Positions and numbers without a value are 0. */
static uint32_t cell_or_0(const int64_t *cells, size_t row)
{
	return cells && cells[row] > 0 ? (uint32_t)cells[row] : 0;
}

/* Reads only the first of several files with the same name: a profile cannot distinguish them. */
static void add_sources(struct import *r)
{
	const struct table *t = &r->layout.sources;
	const struct column *column = table_column(t, &r->layout.cursor, "content");
	struct source_files *files = &r->profile->source_files;
	struct json_cursor s = {0};

	r->sources = xreallocarray(NULL, t->length + 1, sizeof(*r->sources));
	if (column)
		s = json_cursor_within(&r->layout.cursor, column->values);
	for (size_t i = 0; i < t->length; i++) {
		size_t before = files->rows.count;
		char *text;

		r->sources[i] = source_files_intern(files, r->strings[r->cells.source_name[i]]);
		r->counts->unread[UNREAD_SOURCES] += files->rows.count == before;
		if (!column || !json_cursor_element(&s, i) || json_cursor_null(&s))
			continue;
		text = json_cursor_text(&s);
		if (files->rows.count == before || !*text)
			free(text);
		else
			source_files_set_text(files, r->sources[i], text, strlen(text));
	}
}

static source_file_id source_at(struct import *r, size_t func)
{
	int64_t source = r->cells.func_source[func];
	string_id name;

	if (!r->read_own_tables)
		return source < 0 ? NO_SOURCE_FILE : r->sources[source];
	name = source >= 0 && (size_t)source < r->own.sources.count
		       ? r->own.sources.items[source]
		       : string_at(r, r->cells.func_file[func]);
	return name == NO_STRING ? NO_SOURCE_FILE
				 : source_files_intern(&r->profile->source_files, name);
}

/*
 * Finds the lib with each function's code. An inlined function is in the lib of its frame. In
 * threads' own tables, it is the function's resource.
 */
static void find_func_modules(struct import *r)
{
	const struct cells *c = &r->cells;

	vec_clear(&r->own.func_modules);
	for (size_t i = 0; i < r->layout.funcs.length; i++) {
		int64_t resource = r->read_own_tables ? c->func_resource[i] : -1;

		if (resource >= 0 && c->resource_type[resource] != RESOURCE_LIBRARY)
			resource = -1;
		vec_push(&r->own.func_modules,
			 resource < 0 ? NO_MODULE : lib_at(r, c->resource_lib[resource]));
	}
	for (size_t i = r->read_own_tables ? 0 : r->layout.frames.length; i-- > 0;) {
		if (c->frame_lib[i] >= 0 && c->func_resource[c->frame_func[i]] >= 0)
			r->own.func_modules.items[c->frame_func[i]] = lib_at(r, c->frame_lib[i]);
	}
}

static int add_funcs(struct import *r, struct error *err)
{
	const struct cells *c = &r->cells;
	struct funcs *funcs = &r->profile->funcs;

	find_func_modules(r);
	vec_clear(&r->own.funcs);
	for (size_t i = 0; i < r->layout.funcs.length; i++) {
		struct func func = {
			.name = string_at(r, c->func_name[i]),
			.module = r->own.func_modules.items[i],
			.file = source_at(r, i),
			.line = cell_or_0(c->func_line, i),
			.column = cell_or_0(c->func_column, i),
			.is_js = cell_or_0(c->func_is_js, i),
		};

		if (func.name == NO_STRING)
			return error_text(err, -EBADMSG, "funcTable.name[%zu] is out of range", i);
		func.name = own_label(r, func.name);
		own_place_script(r, &func);
		func.is_named = !cells_is_synthetic(strings_get(&r->profile->strings, func.name));
		if (!r->read_own_tables)
			vec_push(&funcs->rows, func);
		vec_push(&r->own.funcs,
			 r->read_own_tables ? funcs_intern(funcs, &func) : (func_id)i);
	}
	return 0;
}

static symbol_id add_symbol(struct import *r, const struct symbol *symbol)
{
	struct symbols *symbols = &r->profile->symbols;

	if (r->read_own_tables)
		return symbol->module == NO_MODULE || symbol->name == NO_STRING
			       ? NO_SYMBOL
			       : symbols_intern(symbols, symbol);
	vec_push(&symbols->rows, *symbol);
	return (symbol_id)(symbols->rows.count - 1);
}

/* In old tables, each function has an address and is its own symbol. */
static void add_symbols(struct import *r)
{
	const struct cells *c = &r->cells;
	bool are_funcs = r->version < VERSION_SYMBOLS;
	size_t count = are_funcs ? r->layout.funcs.length : r->layout.symbols.length;
	const int64_t *addresses = are_funcs ? c->func_address : c->symbol_address;

	vec_clear(&r->own.symbols);
	for (size_t i = 0; i < count; i++) {
		const struct symbol symbol = {
			.module = are_funcs ? r->own.func_modules.items[i]
					    : lib_at(r, c->symbol_lib[i]),
			.name = string_at(r, are_funcs ? c->func_name[i] : c->symbol_name[i]),
			.rva = addresses[i] < 0 ? 0 : (uint64_t)addresses[i],
			.size = are_funcs || c->symbol_size[i] < 0 ? 0
								   : (uint64_t)c->symbol_size[i],
		};

		vec_push(&r->own.symbols, add_symbol(r, &symbol));
	}
}

static struct category_meaning find_meaning(const struct profile_category *category)
{
	struct category_meaning meaning = {PROFILE_FRAME_NATIVE, LANGUAGE_NONE, -1};

	if (strcmp(category->name, categories[CATEGORY_KERNEL]->name) == 0)
		meaning.kind = PROFILE_FRAME_KERNEL;
	/* The last two occur in older files. */
	if (strcmp(category->name, categories[CATEGORY_IDLE]->name) == 0 ||
	    strcmp(category->name, "Blocked") == 0 || strcmp(category->name, "Runnable") == 0)
		meaning.kind = PROFILE_FRAME_LABEL;
	for (uint8_t id = LANGUAGE_NONE + 1; id < LANGUAGE_COUNT; id++) {
		if (strcmp(category->name, languages[id]->category.name) == 0)
			meaning.language = id;
	}
	if (strcmp(category->name, categories[CATEGORY_USER]->name) != 0)
		return meaning;
	for (size_t i = 0; i < category->subcategories.count; i++) {
		if (strcmp(category->subcategories.items[i],
			   categories[CATEGORY_USER]->subcategories[USER_GUESS]) == 0)
			meaning.guess = (int)i;
	}
	return meaning;
}

static const struct category_meaning *find_meanings(struct import *r)
{
	size_t count = r->profile->categories.count;

	if (!r->meanings) {
		r->meanings = xcalloc(count + 1, sizeof(*r->meanings));
		for (size_t i = 0; i < count; i++)
			r->meanings[i] = find_meaning(&r->profile->categories.items[i]);
	}
	return r->meanings;
}

void import_categorize(struct import *r, struct frame *frame)
{
	const struct modules *modules = &r->profile->modules;
	const struct profile_category *category;
	const struct category_meaning *meaning;

	if (frame->module != NO_MODULE && module_is_kernel(&modules->rows.items[frame->module]))
		frame->kind = PROFILE_FRAME_KERNEL;
	if (frame->category >= r->profile->categories.count)
		return;
	category = &r->profile->categories.items[frame->category];
	if (frame->subcategory >= category->subcategories.count)
		frame->subcategory = 0;
	meaning = &find_meanings(r)[frame->category];
	if (meaning->kind == PROFILE_FRAME_KERNEL)
		frame->kind = PROFILE_FRAME_KERNEL;
	else if (meaning->kind == PROFILE_FRAME_LABEL && frame->module == NO_MODULE)
		frame->kind = PROFILE_FRAME_LABEL;
	else if (meaning->guess == frame->subcategory)
		frame->kind = PROFILE_FRAME_GUESS;
	frame->language = meaning->language;
	if (frame->language != LANGUAGE_NONE)
		frame->tier = frame->subcategory;
}

static module_id frame_module(const struct import *r, size_t row)
{
	const struct cells *c = &r->cells;

	if (!r->read_own_tables)
		return lib_at(r, c->frame_lib[row]);
	return c->frame_address[row] < 0 ? NO_MODULE
					 : r->own.func_modules.items[c->frame_func[row]];
}

static int add_frames(struct import *r, struct error *err)
{
	const struct cells *c = &r->cells;

	vec_clear(&r->own.frames);
	for (size_t i = 0; i < r->layout.frames.length; i++) {
		int64_t symbol = r->version < VERSION_SYMBOLS ? c->frame_func[i]
							      : c->frame_symbol[i];
		struct frame frame = {.symbol = NO_SYMBOL};

		if (c->frame_func[i] < 0)
			return error_text(err, -EBADMSG, "frameTable.func is out of range");
		frame.module = frame_module(r, i);
		frame.func = r->own.funcs.items[c->frame_func[i]];
		if (c->frame_address[i] >= 0 && (frame.module != NO_MODULE || !r->read_own_tables))
			frame.offset = (uint64_t)c->frame_address[i];
		if (symbol >= 0)
			frame.symbol = r->own.symbols.items[symbol];
		frame.line = cell_or_0(c->frame_line, i);
		frame.inline_depth = (uint16_t)cell_or_0(c->frame_depth, i);
		if (r->profile->categories.count)
			frame.category = own_category(r, c->frame_category[i]);
		if (frame.category != CATEGORY_OF_CALLER)
			frame.subcategory = (uint8_t)cell_or_0(c->frame_subcategory, i);
		import_categorize(r, &frame);
		own_frames_add(r, &frame, r->version < VERSION_NUDGED);
	}
	return 0;
}

static int add_stacks(struct import *r, struct error *err)
{
	const struct cells *c = &r->cells;
	bool has_categories = r->version < VERSION_FRAME_CATEGORIES;
	int ret = 0;

	own_stacks_begin(r, r->layout.stacks.length);
	for (size_t i = 0; i < r->stack_count && !ret; i++) {
		const struct own_stack stack = {
			.prefix = c->stack_parent[i] == CELL_NULL ? -1 : c->stack_parent[i],
			.frame = c->stack_frame[i],
			.category = has_categories ? c->stack_category[i] : -1,
			.subcategory = has_categories ? c->stack_subcategory[i] : -1,
		};

		ret = own_stacks_add(r, i, &stack, err);
	}
	return ret;
}

static void count_unread(struct import *r)
{
	static const char *const columns[] = {"column", "innerWindowID", "originalLocation"};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		r->counts->unread[UNREAD_FRAME_VALUES] +=
			table_count_values(&r->layout.frames, &r->layout.cursor, columns[i]);
}

/* Reads the cells of the current tables and adds their contents. */
static int add_tables(struct import *r, struct error *err)
{
	int ret;

	cells_release(&r->cells);
	r->cells = (struct cells){0};
	ret = cells_read(&r->cells, &r->layout, r->read_own_tables ? CELLS_OWN : CELLS_SHARED,
			 r->profile->categories.count, err);
	if (!ret && !r->read_own_tables)
		add_sources(r);
	if (!ret)
		ret = add_funcs(r, err);
	if (ret)
		return ret;
	add_symbols(r);
	return add_frames(r, err) ?: add_stacks(r, err);
}

static int read_strings(struct import *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.strings);

	return r->layout.strings.end ? own_strings_read(r, &s, err) : 0;
}

static int read_libs(struct import *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.lib_list);

	return r->layout.lib_list.end && json_cursor_peek(&s) == '[' ? own_libs_read(r, &s, err)
								     : 0;
}

/* Reads the tables of the thread at the cursor. */
static int read_thread_tables(struct import *r, struct json_cursor s, struct error *err)
{
	int ret;

	if (!r->layout.shared.end)
		r->layout.strings = (struct span){0};
	ret = layout_read_own_tables(&r->layout, s, err);
	if (!ret && !r->layout.shared.end)
		ret = read_strings(r, err);
	if (!ret && r->version < VERSION_SHARED_LIBS)
		ret = read_libs(r, err);
	if (!ret && !r->layout.stacks.name)
		return error_text(err, -EBADMSG, "a thread has no stackTable");
	return ret ? ret : add_tables(r, err);
}

/* Versions 56 to 59 share strings, and some of them source files. */
static int read_own_shared(struct import *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.shared);
	const struct cell_range any = {.max = CELL_MAX, .or_any = true};
	_cleanup_free_ int64_t *names = NULL;
	int ret;

	if (!r->layout.shared.end || json_cursor_peek(&s) != '{')
		return 0;
	ret = layout_read_own_tables(&r->layout, s, err) ?: read_strings(r, err);
	if (!ret)
		ret = table_read_cells(&r->layout.sources, &r->layout.cursor, "filename", &any,
				       false, &names, err);
	for (size_t i = 0; names && i < r->layout.sources.length; i++)
		vec_push(&r->own.sources, string_at(r, names[i]));
	return ret;
}

int import_own_tables(struct import *r, struct error *err)
{
	r->read_own_tables = read_thread_tables;
	return read_libs(r, err) ?: read_own_shared(r, err);
}

int import_tables(struct import *r, struct error *err)
{
	int ret = layout_read_tables(&r->layout, err) ?: read_strings(r, err);

	if (ret)
		return ret;
	vec_for_each(&r->layout.libs.rows, const struct layout_lib *, lib)
		vec_push(&r->own.libs.rows, (struct own_lib){.module = import_module(r, lib)});
	ret = add_tables(r, err);
	count_unread(r);
	return ret;
}
