/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/read_tables.h"

#include <elf.h>
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/json/cursor.h"
#include "lib/base/text.h"
#include "lib/format/firefox/read/read_internal.h"
#include "lib/model/meaning/categories.h"

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

/* Maximum line or column in front-ends. */
#define PLACE_MAX INT32_MAX

static int read_strings(struct import *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.strings);
	_cleanup_(strbuf_release) struct strbuf text = {0};
	size_t row = 0;

	r->string_count = r->layout.string_count;
	r->strings = xreallocarray(NULL, r->layout.string_count + 1, sizeof(*r->strings));
	json_for_each_element(&s, i) {
		if (!json_cursor_string(&s, &text))
			return error_text(err, -EBADMSG, "shared.stringArray[%zu] is damaged", row);
		r->strings[row++] = strings_intern_sized(&r->profile->strings, strbuf_text(&text),
							 text.size);
	}
	return 0;
}

static uint16_t machine_of(const char *arch)
{
	static const struct {
		const char *arch;
		uint16_t machine;
	} machines[] = {
		{"x86_64", EM_X86_64}, {"x86", EM_386}, {"arm64", EM_AARCH64}, {"arm", EM_ARM}};

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		if (strcmp(arch, machines[i].arch) == 0)
			return machines[i].machine;
	}
	return EM_NONE;
}

module_id import_module(struct import *r, const struct layout_lib *lib)
{
	struct strings *strings = &r->profile->strings;
	struct modules *modules = &r->profile->modules;
	string_id path = strings_intern(strings, *lib->path ? lib->path : lib->name);
	string_id name = strings_intern(strings, lib->name);
	module_id id = modules_add(modules, layout_lib_kind(lib), path, name);
	struct module *module = modules_get(modules, id);

	module->was_deleted = layout_lib_was_deleted(lib);
	module->machine = machine_of(lib->arch);
	module->build_id_size = lib->build_id_size;
	r->counts->unread[UNREAD_BUILD_IDS] += lib->has_breakpad_id;
	memcpy(module->build_id, lib->build_id, sizeof(module->build_id));
	return id;
}

static void add_modules(struct import *r)
{
	vec_for_each(&r->layout.libs.rows, const struct layout_lib *, lib)
		import_module(r, lib);
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

/* Reads a column of numbers, which may be missing. */
static int read_optional(const struct import *r, const struct table *t, const char *name,
			 int64_t max, int64_t **cells, struct error *err)
{
	const struct cell_range range = {.min = -1, .max = max, .or_null = true, .or_bool = true};

	return table_read_cells(t, &r->layout.cursor, name, &range, false, cells, err);
}

/* 0: missing. */
static uint32_t cell_or_0(const int64_t *cells, size_t row)
{
	return cells && cells[row] > 0 ? (uint32_t)cells[row] : 0;
}

/* Finds the lib with each function's code. An inlined function is in the lib of its frame. */
static module_id *find_func_modules(const struct import *r)
{
	const struct cells *c = &r->cells;
	module_id *modules = xreallocarray(NULL, r->layout.funcs.length + 1, sizeof(*modules));

	for (size_t i = 0; i < r->layout.funcs.length; i++)
		modules[i] = NO_MODULE;
	for (size_t i = r->layout.frames.length; i-- > 0;) {
		if (c->frame_lib[i] >= 0 && c->func_resource[c->frame_func[i]] >= 0)
			modules[c->frame_func[i]] = (module_id)c->frame_lib[i];
	}
	return modules;
}

static int add_funcs(struct import *r, struct error *err)
{
	_cleanup_free_ int64_t *lines = NULL, *columns = NULL, *are_js = NULL;
	_cleanup_free_ module_id *modules = find_func_modules(r);
	const struct table *t = &r->layout.funcs;
	const struct strings *strings = &r->profile->strings;
	int ret = read_optional(r, t, "lineNumber", PLACE_MAX, &lines, err);

	if (!ret)
		ret = read_optional(r, t, "columnNumber", PLACE_MAX, &columns, err);
	if (!ret)
		ret = read_optional(r, t, "isJS", 1, &are_js, err);
	vec_reserve(&r->profile->funcs.rows, t->length);
	for (size_t i = 0; i < t->length && !ret; i++) {
		int64_t source = r->cells.func_source[i];
		struct func func = {
			.name = r->strings[r->cells.func_name[i]],
			.module = modules[i],
			.file = source < 0 ? NO_SOURCE_FILE : r->sources[source],
			.line = cell_or_0(lines, i),
			.column = cell_or_0(columns, i),
			.is_js = cell_or_0(are_js, i),
		};

		func.is_named = !cells_is_synthetic(strings_get(strings, func.name));
		vec_push(&r->profile->funcs.rows, func);
	}
	return ret;
}

static int add_symbols(struct import *r, struct error *err)
{
	const struct table *t = &r->layout.symbols;
	const struct cells *c = &r->cells;
	_cleanup_free_ int64_t *sizes = NULL;
	int ret = read_optional(r, t, "functionSize", CELL_MAX, &sizes, err);

	vec_reserve(&r->profile->symbols.rows, t->length);
	for (size_t i = 0; i < t->length && !ret; i++) {
		struct symbol symbol = {
			.module = (module_id)c->symbol_lib[i],
			.name = r->strings[c->symbol_name[i]],
			.rva = c->symbol_address[i] < 0 ? 0 : (uint64_t)c->symbol_address[i],
			.size = sizes && sizes[i] > 0 ? (uint64_t)sizes[i] : 0,
		};

		vec_push(&r->profile->symbols.rows, symbol);
	}
	return ret;
}

static struct category_meaning find_meaning(const struct profile_category *category)
{
	struct category_meaning meaning = {PROFILE_FRAME_NATIVE, LANGUAGE_NONE, -1};

	if (strcmp(category->name, categories[CATEGORY_KERNEL]->name) == 0)
		meaning.kind = PROFILE_FRAME_KERNEL;
	/* The last two are those of older files. */
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

/* Columns of frames that are not in struct cells; NULL: missing. */
struct frame_cells {
	int64_t *symbol, *line, *category, *subcategory;
};

static void frame_cells_release(struct frame_cells *cells)
{
	free(cells->symbol);
	free(cells->line);
	free(cells->category);
	free(cells->subcategory);
}

static int read_frame_cells(const struct import *r, struct frame_cells *cells, struct error *err)
{
	const struct table *t = &r->layout.frames;
	int64_t symbols = (int64_t)r->layout.symbols.length;
	int64_t count = (int64_t)r->profile->categories.count;
	int ret = read_optional(r, t, "nativeSymbol", symbols - 1, &cells->symbol, err);

	if (!ret)
		ret = read_optional(r, t, "line", PLACE_MAX, &cells->line, err);
	if (!ret && count)
		ret = read_optional(r, t, "category", count - 1, &cells->category, err);
	if (!ret && count)
		ret = read_optional(r, t, "subcategory", UINT8_MAX, &cells->subcategory, err);
	return ret;
}

static struct frame frame_at(const struct import *r, const struct frame_cells *cells, size_t row)
{
	const struct cells *c = &r->cells;
	bool has_lib = c->frame_lib[row] >= 0;
	bool has_symbol = cells->symbol && cells->symbol[row] >= 0;
	struct frame frame = {
		.module = has_lib ? (module_id)c->frame_lib[row] : NO_MODULE,
		.func = (func_id)c->frame_func[row],
		.offset = c->frame_address[row] < 0 ? 0 : (uint64_t)c->frame_address[row],
		.symbol = has_symbol ? (symbol_id)cells->symbol[row] : NO_SYMBOL,
		.line = cell_or_0(cells->line, row),
		.inline_depth = (uint16_t)c->frame_depth[row],
	};

	if (!r->profile->categories.count)
		return frame;
	frame.category = CATEGORY_OF_CALLER;
	if (cells->category && cells->category[row] >= 0) {
		frame.category = (uint8_t)cells->category[row];
		frame.subcategory = (uint8_t)cell_or_0(cells->subcategory, row);
	}
	return frame;
}

static int add_frames(struct import *r, struct error *err)
{
	struct frame_cells cells = {0};
	int ret = read_frame_cells(r, &cells, err);

	vec_reserve(&r->profile->frames.rows, r->layout.frames.length);
	for (size_t i = 0; i < r->layout.frames.length && !ret; i++) {
		struct frame frame = frame_at(r, &cells, i);

		import_categorize(r, &frame);
		vec_push(&r->profile->frames.rows, frame);
	}
	frame_cells_release(&cells);
	return ret;
}

static void add_stacks(struct import *r)
{
	const struct cells *c = &r->cells;
	size_t count = r->layout.stacks.length;

	r->stack_count = count;
	vec_reserve(&r->profile->stacks.rows, count);
	for (size_t i = 0; i < count; i++) {
		struct stack stack = {
			.parent = c->stack_parent[i] == CELL_NULL ? NO_STACK
								  : (stack_id)c->stack_parent[i],
			.frame = (frame_id)c->stack_frame[i],
		};

		vec_push(&r->profile->stacks.rows, stack);
	}
}

static void count_unread(struct import *r)
{
	static const char *const columns[] = {"column", "innerWindowID", "originalLocation"};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		r->counts->unread[UNREAD_FRAME_VALUES] +=
			table_count_values(&r->layout.frames, &r->layout.cursor, columns[i]);
}

int import_tables(struct import *r, struct error *err)
{
	int ret = read_strings(r, err);

	if (ret)
		return ret;
	add_modules(r);
	add_sources(r);
	ret = add_funcs(r, err);
	if (!ret)
		ret = add_symbols(r, err);
	if (!ret)
		ret = add_frames(r, err);
	if (ret)
		return ret;
	add_stacks(r);
	count_unread(r);
	return 0;
}
