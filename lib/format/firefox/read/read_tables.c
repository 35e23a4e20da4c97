/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/read_tables.h"

#include "lib/base/json/cursor.h"
#include "lib/format/firefox/read/cells.h"
#include "lib/model/meaning/categories.h"

/* First versions with a list of categories; before, categories were bits. */
#define PROCESSED_CATEGORY_LIST 12
#define GECKO_CATEGORY_LIST 11
/* First versions in which the entries of scripts have no name. */
#define PROCESSED_ENTRIES 17
#define GECKO_ENTRIES 15
/*
 * First versions in which functions have files and lines, and the last part of a name is not a
 * line.
 */
#define VERSION_FILE_NAMES 4
#define VERSION_COLUMNS 18

void own_tables_release(struct own_tables *own)
{
	vec_release(&own->modules);
	index_release(&own->module_index);
	vec_release(&own->libs.rows);
	vec_release(&own->funcs);
	vec_release(&own->func_modules);
	vec_release(&own->symbols);
	vec_release(&own->frames);
	vec_release(&own->sources);
}

INDEX_EQUAL(module_equal, struct own_tables, modules,
	    a->name == b->name && a->path == b->path && a->id_hash == b->id_hash)

/* Adds a module for a library. */
static module_id import_module(struct import *r, const struct layout_lib *lib)
{
	r->counts->unread[UNREAD_BUILD_IDS] += lib->has_breakpad_id;
	return layout_lib_add(lib, r->profile);
}

module_id own_tables_module(struct import *r, const struct layout_lib *lib)
{
	struct own_tables *own = &r->own;
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

	vec_clear(&r->own.libs.rows);
	vec_for_each(&libs.rows, const struct layout_lib *, lib)
		vec_push(&r->own.libs.rows, (struct own_lib){lib->start, lib->end, lib->offset,
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

	if (r->read_own_tables) {
		row.exact = frames_intern(frames, frame);
	} else {
		row.exact = (frame_id)frames->rows.count;
		vec_push(&frames->rows, *frame);
	}
	row.caller = row.exact;
	if (are_returns && frame->module != NO_MODULE && frame->offset) {
		caller.offset--;
		row.caller = frames_intern(frames, &caller);
	}
	vec_push(&r->own.frames, row);
}

uint8_t own_category(const struct import *r, int64_t category)
{
	static const struct {
		int64_t bit;
		uint8_t category; /* default category of older files */
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

char *own_script_uri(char *uri)
{
	for (char *next = strstr(uri, " -> "); next; next = strstr(uri, " -> "))
		uri = next + 4;
	return uri;
}

bool own_cut_number(char *text, uint32_t *number)
{
	char *colon = strrchr(text, ':');
	uint64_t value;

	if (!colon || colon == text || !text_to_u64(colon + 1, 10, &value) || value > PLACE_MAX)
		return false;
	*number = (uint32_t)value;
	*colon = '\0';
	return true;
}

/* Splits "frobnicate (chrome://blargh:34)", or "chrome://blargh:34" for a whole script. */
static void split_name(struct import *r, struct func *func)
{
	struct strings *strings = &r->profile->strings;
	_cleanup_free_ char *name = xstrdup(strings_get(strings, func->name));
	char *open = strrchr(name, '('), *uri = open ? open + 1 : name;
	size_t size = strlen(uri);

	if (open && (open == name || open[-1] != ' ' || !size || uri[size - 1] != ')'))
		return;
	if (open)
		uri[size - 1] = '\0';
	if (!own_cut_number(uri, &func->line))
		return;
	uri = own_script_uri(uri);
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
	if (!own_cut_number(path, &line))
		return;
	func->column = func->line;
	func->line = line;
	func->file = source_files_intern(files, strings_intern(&r->profile->strings, path));
}

/* Extracts the file and line of a script's function from its name, as in the oldest versions. */
static void own_place_script(struct import *r, struct func *func)
{
	if (func->is_js && r->version < VERSION_FILE_NAMES)
		split_name(r, func);
	if (func->is_js && r->version < VERSION_COLUMNS)
		move_column(r, func);
}

/* Assigns a frame without a category that of its stack, where older writers put it. */
static frame_id with_category(struct import *r, frame_id id, int64_t category, int64_t subcategory)
{
	struct frame frame = *frames_get(&r->profile->frames, id);

	if (category < 0 || frame.category != CATEGORY_OF_CALLER || !r->profile->categories.count)
		return id;
	frame.category = own_category(r, category);
	frame.subcategory = subcategory > 0 && subcategory <= UINT8_MAX ? (uint8_t)subcategory : 0;
	import_categorize(r, &frame);
	return frames_intern(&r->profile->frames, &frame);
}

static stack_id add_stack(struct import *r, stack_id parent, frame_id frame)
{
	struct stacks *stacks = &r->profile->stacks;

	if (r->read_own_tables)
		return stacks_intern(stacks, parent, frame);
	vec_push(&stacks->rows, (struct stack){.parent = parent, .frame = frame});
	return (stack_id)(stacks->rows.count - 1);
}

void own_stacks_begin(struct import *r, size_t count)
{
	free(r->stack_ids);
	free(r->cause_ids);
	r->stack_ids = xcalloc(count + 1, sizeof(*r->stack_ids));
	r->cause_ids = xcalloc(count + 1, sizeof(*r->cause_ids));
	r->stack_count = count;
}

int own_stacks_add(struct import *r, size_t row, const struct own_stack *stack, struct error *err)
{
	const struct own_frame *frame;
	stack_id parent;

	if (stack->prefix >= (int64_t)row)
		return error_text(err, -EBADMSG, "stackTable[%zu] comes before its parent", row);
	if (stack->frame < 0 || (size_t)stack->frame >= r->own.frames.count)
		return error_text(err, -EBADMSG, "stackTable[%zu] has no frame", row);
	parent = stack->prefix < 0 ? NO_STACK : r->cause_ids[stack->prefix];
	frame = &r->own.frames.items[stack->frame];
	r->stack_ids[row] = r->cause_ids[row] = add_stack(
		r, parent, with_category(r, frame->caller, stack->category, stack->subcategory));
	if (frame->exact != frame->caller)
		r->stack_ids[row] = add_stack(
			r, parent,
			with_category(r, frame->exact, stack->category, stack->subcategory));
	return 0;
}

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
