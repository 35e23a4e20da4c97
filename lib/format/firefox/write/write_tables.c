/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/write_internal.h"

/*
 * Modules become libs. Symbolizers find a lib by (debug name, breakpad id), so the pair must be
 * unique, and the name must not contain a slash.
 */

INDEX_EQUAL(lib_equal, struct firefox, libs,
	    a->name == b->name && !strcmp(a->breakpad_id, b->breakpad_id))

static uint64_t lib_hash(const struct firefox_lib *lib)
{
	return hash_bytes(lib->breakpad_id, BREAKPAD_ID_SIZE, lib->name);
}

static void name_lib(struct firefox *f, struct firefox_lib *lib, const struct module *module)
{
	struct string_overlay *strings = &f->texts;
	struct strbuf name __attribute__((cleanup(strbuf_release_cleanup))) = {0};

	lib->name = firefox_clean(f, module->name);
	lib->path = firefox_clean(f, module->path);
	if (module->kind == PROFILE_MODULE_KERNEL)
		lib->name = string_overlay_intern(strings, "[kernel.kallsyms]");
	else if (module->kind == PROFILE_MODULE_VDSO)
		lib->name = string_overlay_intern(strings, "[vdso]");
	if (!string_overlay_size(strings, lib->name))
		lib->name = lib->path;
	if (!string_overlay_size(strings, lib->name))
		lib->name = string_overlay_intern(strings, "unknown");
	if (!string_overlay_size(strings, lib->path))
		lib->path = lib->name;

	strbuf_add(&name, string_overlay_get(strings, lib->name),
		   string_overlay_size(strings, lib->name));
	for (size_t i = 0; i < name.size; i++) {
		if (name.text[i] == '/')
			name.text[i] = '_';
	}
	lib->name = string_overlay_intern_sized(&f->texts, strbuf_text(&name), name.size);
}

static uint32_t find_lib(const struct firefox *f, const struct firefox_lib *lib)
{
	return index_find(&f->lib_index, lib_hash(lib), lib_equal, f, lib);
}

/* Makes one lib of modules with equal name and build id (a file and its copy in a container). */
static uint32_t intern_lib(struct firefox *f, module_id id)
{
	const struct module *module = &f->profile->modules.rows.items[id];
	struct firefox_lib lib = {.module = id};
	uint8_t build_id[16] = {0};
	uint32_t position;

	name_lib(f, &lib, module);
	if (module->build_id_size) {
		memcpy(build_id, module->build_id,
		       module->build_id_size < 16 ? module->build_id_size : 16);
		breakpad_id_format(lib.breakpad_id, build_id);
		position = find_lib(f, &lib);
		if (position != INDEX_NONE)
			return position;
	} else {
		for (uint64_t salt = 0; !salt || find_lib(f, &lib) != INDEX_NONE; salt++)
			breakpad_id_invent(lib.breakpad_id, string_overlay_get(&f->texts, lib.path),
					   string_overlay_size(&f->texts, lib.path), salt);
	}
	position = (uint32_t)f->libs.count;
	vec_push(&f->libs, lib);
	index_add(&f->lib_index, lib_hash(&lib), position);
	/* Each lib becomes a resource, which needs a string with its name. */
	firefox_string(f, lib.name);
	return position;
}

int32_t firefox_lib(struct firefox *f, module_id module)
{
	if (f->module_libs[module] == NO_LIB)
		f->module_libs[module] = (int32_t)intern_lib(f, module);
	return f->module_libs[module];
}

#define RESOURCE_LIBRARY 1

static void table_begin(struct jsonw *w, const char *name)
{
	jsonw_member(w, name, object_begin);
}

static void table_end(struct jsonw *w, size_t length)
{
	jsonw_member(w, "length", u64, length);
	jsonw_object_end(w);
}

static void write_nulls(struct jsonw *w, const char *key, size_t count)
{
	char *at = jsonw_column_begin(w, key);

	for (size_t i = 0; i < count; i++)
		at = jsonw_column_next(jsonw_format_null(jsonw_column_room(w, at)));
	jsonw_column_end(w, at);
}

/* Writes a column of equal values. */
static void firefox_write_same(struct jsonw *w, const char *key, size_t count, uint64_t value)
{
	char *at = jsonw_column_begin(w, key);

	for (size_t i = 0; i < count; i++)
		at = jsonw_column_next(jsonw_format_u64(jsonw_column_room(w, at), value));
	jsonw_column_end(w, at);
}

static void write_false(struct jsonw *w, const char *key, size_t count)
{
	char *at = jsonw_column_begin(w, key);

	for (size_t i = 0; i < count; i++)
		at = jsonw_column_next(jsonw_format_bool(jsonw_column_room(w, at), false));
	jsonw_column_end(w, at);
}

/* Formats a cell without a value: 0 if flags mark it as such. */
static char *format_none(char *at, const struct firefox *f)
{
	return f->has_flags ? jsonw_format_u64(at, 0) : jsonw_format_null(at);
}

static void write_none(const struct firefox *f, struct jsonw *w, const char *key, size_t count)
{
	if (f->has_flags)
		firefox_write_same(w, key, count, 0);
	else
		write_nulls(w, key, count);
}

/* Lines and columns count from 1; 0 is unknown. */
static char *format_place(char *at, const struct firefox *f, uint32_t place)
{
	return place ? jsonw_format_u64(at, place) : format_none(at, f);
}

static char *format_position(char *at, const struct firefox *f, uint32_t position)
{
	return position != NO_POSITION ? jsonw_format_u64(at, position) : format_none(at, f);
}

/* Formats a number that is negative if unknown. */
static char *format_known(char *at, const struct firefox *f, int32_t number)
{
	return jsonw_format_i64(at, f->has_flags && number < 0 ? 0 : number);
}

static void write_stacks(const struct firefox *f, struct jsonw *w)
{
	const struct stacks *stacks = &f->profile->stacks;
	stack_id id = 0;
	char *at;

	table_begin(w, "stackTable");
	at = jsonw_column_begin(w, "frame");
	vec_for_each(&stacks->rows, const struct stack *, row)
		at = jsonw_column_next(jsonw_format_u64(jsonw_column_room(w, at), row->frame));
	vec_for_each(&f->cpu_stacks.rows, const struct cpu_stack *, row)
		at = jsonw_column_next(jsonw_format_u64(jsonw_column_room(w, at), row->frame));
	jsonw_column_end(w, at);
	/* Distance to the parent; 0 for a root. */
	at = jsonw_column_begin(w, "prefixOffset");
	vec_for_each(&stacks->rows, const struct stack *, row) {
		at = jsonw_column_room(w, at);
		at = jsonw_format_u64(at, row->parent == NO_STACK ? 0 : id - row->parent);
		at = jsonw_column_next(at);
		id++;
	}
	vec_for_each(&f->cpu_stacks.rows, const struct cpu_stack *, row) {
		at = jsonw_column_room(w, at);
		at = jsonw_format_u64(at, row->parent == NO_STACK ? 0 : id - row->parent);
		at = jsonw_column_next(at);
		id++;
	}
	jsonw_column_end(w, at);
	table_end(w, id);
}

/* A frame without a category of its own has that of its caller. */
static bool has_category(const struct firefox_frame *frame)
{
	return frame->category.category != CATEGORY_OF_CALLER;
}

static char *format_category(char *at, const struct firefox *f, const struct firefox_frame *frame)
{
	return has_category(frame)
		       ? jsonw_format_u64(at, f->category_positions[frame->category.category])
		       : format_none(at, f);
}

static char *format_subcategory(char *at, const struct firefox *f,
				const struct firefox_frame *frame)
{
	return has_category(frame) ? jsonw_format_u64(at, frame->category.subcategory)
				   : format_none(at, f);
}

static uint64_t frame_flags(const struct firefox_frame *frame)
{
	return (frame->inline_depth ? FRAME_IS_INLINED : 0) |
	       (frame->address >= 0 && frame->lib >= 0 ? FRAME_HAS_ADDRESS : 0) |
	       (has_category(frame) ? FRAME_HAS_CATEGORY : 0) |
	       (frame->symbol != NO_POSITION ? FRAME_HAS_SYMBOL : 0) |
	       (frame->line ? FRAME_HAS_LINE : 0);
}

static uint64_t func_flags(const struct firefox_func *func)
{
	return (func->is_js ? FUNC_IS_JS : 0) | (func->resource >= 0 ? FUNC_HAS_RESOURCE : 0) |
	       (func->source != NO_POSITION ? FUNC_HAS_SOURCE : 0) |
	       (func->line ? FUNC_HAS_LINE : 0) | (func->column ? FUNC_HAS_COLUMN : 0);
}

static void write_frames(const struct firefox *f, struct jsonw *w)
{
	size_t count = f->frames.count;

	table_begin(w, "frameTable");
	FIREFOX_COLUMN(w, "address", &f->frames, struct firefox_frame, row, at,
		       format_known(at, f, row->address));
	FIREFOX_COLUMN(w, "lib", &f->frames, struct firefox_frame, row, at,
		       format_known(at, f, row->lib));
	if (f->has_flags)
		FIREFOX_COLUMN(w, "flags", &f->frames, struct firefox_frame, row, at,
			       jsonw_format_u64(at, frame_flags(row)));
	else
		FIREFOX_COLUMN(w, "inlineDepth", &f->frames, struct firefox_frame, row, at,
			       jsonw_format_u64(at, row->inline_depth));
	FIREFOX_COLUMN(w, "category", &f->frames, struct firefox_frame, row, at,
		       format_category(at, f, row));
	FIREFOX_COLUMN(w, "subcategory", &f->frames, struct firefox_frame, row, at,
		       format_subcategory(at, f, row));
	FIREFOX_COLUMN(w, "func", &f->frames, struct firefox_frame, row, at,
		       jsonw_format_u64(at, row->func));
	FIREFOX_COLUMN(w, "nativeSymbol", &f->frames, struct firefox_frame, row, at,
		       format_position(at, f, row->symbol));
	write_none(f, w, "innerWindowID", count);
	FIREFOX_COLUMN(w, "line", &f->frames, struct firefox_frame, row, at,
		       format_place(at, f, row->line));
	write_none(f, w, "column", count);
	write_none(f, w, "originalLocation", count);
	table_end(w, count);
}

static void write_funcs(const struct firefox *f, struct jsonw *w)
{
	size_t count = f->funcs.count;

	table_begin(w, "funcTable");
	FIREFOX_COLUMN(w, "name", &f->funcs, struct firefox_func, row, at,
		       jsonw_format_u64(at, row->name));
	if (f->has_flags) {
		FIREFOX_COLUMN(w, "flags", &f->funcs, struct firefox_func, row, at,
			       jsonw_format_u64(at, func_flags(row)));
	} else {
		FIREFOX_COLUMN(w, "isJS", &f->funcs, struct firefox_func, row, at,
			       jsonw_format_bool(at, row->is_js));
		write_false(w, "relevantForJS", count);
	}
	FIREFOX_COLUMN(w, "resource", &f->funcs, struct firefox_func, row, at,
		       format_known(at, f, row->resource));
	FIREFOX_COLUMN(w, "source", &f->funcs, struct firefox_func, row, at,
		       format_position(at, f, row->source));
	FIREFOX_COLUMN(w, "lineNumber", &f->funcs, struct firefox_func, row, at,
		       format_place(at, f, row->line));
	FIREFOX_COLUMN(w, "columnNumber", &f->funcs, struct firefox_func, row, at,
		       format_place(at, f, row->column));
	write_none(f, w, "originalLocation", count);
	table_end(w, count);
}

static void write_symbols(const struct firefox *f, struct jsonw *w)
{
	table_begin(w, "nativeSymbols");
	FIREFOX_COLUMN(w, "libIndex", &f->symbols, struct firefox_symbol, row, at,
		       jsonw_format_i64(at, row->lib));
	FIREFOX_COLUMN(w, "address", &f->symbols, struct firefox_symbol, row, at,
		       jsonw_format_i64(at, row->address));
	FIREFOX_COLUMN(w, "name", &f->symbols, struct firefox_symbol, row, at,
		       jsonw_format_u64(at, row->name));
	FIREFOX_COLUMN(w, "functionSize", &f->symbols, struct firefox_symbol, row, at,
		       row->size      ? jsonw_format_u64(at, row->size)
		       : f->has_flags ? jsonw_format_i64(at, -1)
				      : jsonw_format_null(at));
	table_end(w, f->symbols.count);
}

static void write_resources(struct firefox *f, struct jsonw *w)
{
	size_t count = f->libs.count;

	table_begin(w, "resourceTable");
	FIREFOX_COLUMN(w, "name", &f->libs, struct firefox_lib, row, at,
		       jsonw_format_u64(at, firefox_string(f, row->name)));
	write_nulls(w, "host", count);
	firefox_write_same(w, "type", count, RESOURCE_LIBRARY);
	table_end(w, count);
}

/* Texts may be large, so this is not a fast column. */
static void write_contents(const struct firefox *f, struct jsonw *w)
{
	const struct source_file *files = f->profile->source_files.rows.items;

	jsonw_member(w, "content", array_begin);
	vec_for_each(&f->sources, const struct firefox_source *, row) {
		const struct source_file *file = &files[row->file];

		if (file->text)
			jsonw_string(w, file->text, file->size);
		else
			jsonw_null(w);
	}
	jsonw_array_end(w);
}

static void write_sources(const struct firefox *f, struct jsonw *w)
{
	size_t count = f->sources.count;

	table_begin(w, "sources");
	write_nulls(w, "id", count);
	FIREFOX_COLUMN(w, "filename", &f->sources, struct firefox_source, row, at,
		       jsonw_format_u64(at, row->path));
	firefox_write_same(w, "startLine", count, 1);
	firefox_write_same(w, "startColumn", count, 1);
	write_nulls(w, "sourceMapURL", count);
	write_contents(f, w);
	table_end(w, count);

	/* Targets of source maps, which native code does not have. */
	table_begin(w, "sourceLocationTable");
	write_nulls(w, "source", 0);
	write_nulls(w, "line", 0);
	write_nulls(w, "column", 0);
	table_end(w, 0);
}

static void write_strings(const struct firefox *f, struct jsonw *w)
{
	const struct string_overlay *strings = &f->texts;

	jsonw_member(w, "stringArray", array_begin);
	vec_for_each(&f->strings, const string_id *, id)
		jsonw_string(w, string_overlay_get(strings, *id),
			     string_overlay_size(strings, *id));
	jsonw_array_end(w);
}

void firefox_write_shared(struct firefox *f, struct jsonw *w)
{
	jsonw_object_begin(w);
	write_stacks(f, w);
	write_frames(f, w);
	write_funcs(f, w);
	write_symbols(f, w);
	write_resources(f, w);
	write_sources(f, w);
	/* Strings come last: all other writers may add some. */
	write_strings(f, w);
	jsonw_object_end(w);
}

string_id firefox_clean(struct firefox *f, string_id id)
{
	struct string_overlay *strings = &f->texts;
	const char *text = string_overlay_get(strings, id);
	size_t size = string_overlay_size(strings, id);
	struct strbuf clean __attribute__((cleanup(strbuf_release_cleanup))) = {0};

	if (jsonw_is_clean(text, size))
		return id == NO_STRING ? string_overlay_intern(strings, "") : id;
	jsonw_clean(&clean, text, size);
	return string_overlay_intern_sized(strings, strbuf_text(&clean), clean.size);
}

/* Works for ids from before and after the profile got more strings. */
static uint32_t *string_position(struct firefox *f, string_id id)
{
	size_t known = f->string_positions.count, needed = string_overlay_count(&f->texts);

	if (id >= known) {
		vec_reserve(&f->string_positions, needed);
		for (size_t i = known; i < needed; i++)
			f->string_positions.items[i] = NO_POSITION;
		f->string_positions.count = needed;
	}
	return &f->string_positions.items[id];
}

uint32_t firefox_string(struct firefox *f, string_id id)
{
	string_id clean;
	uint32_t position;

	if (id != NO_STRING && *string_position(f, id) != NO_POSITION)
		return *string_position(f, id);
	clean = firefox_clean(f, id);
	position = *string_position(f, clean);
	if (position == NO_POSITION) {
		position = (uint32_t)f->strings.count;
		vec_push(&f->strings, clean);
		*string_position(f, clean) = position;
	}
	/* Also cached for the unclean string. */
	if (id != NO_STRING)
		*string_position(f, id) = position;
	return position;
}

INDEX_HAS(source_equal, struct firefox, sources, path)

static uint32_t find_source(struct firefox *f, source_file_id id)
{
	uint32_t path, position;
	string_id name;

	if (id == NO_SOURCE_FILE)
		return NO_POSITION;
	name = f->profile->source_files.rows.items[id].path;
	if (!string_overlay_size(&f->texts, name))
		return NO_POSITION;
	path = firefox_string(f, name);
	position = index_intern(&f->source_index, hash_u64(path), source_equal, f, &path,
				f->sources.count);
	if (position == f->sources.count)
		vec_push(&f->sources, (struct firefox_source){.path = path, .file = id});
	return position;
}

INDEX_EQUAL(symbol_equal, struct firefox, symbols, a->lib == b->lib && a->address == b->address)

/* Two modules may have become one lib. The first symbol at an address is kept. */
static uint32_t intern_symbol(struct firefox *f, const struct symbol *symbol, int32_t lib)
{
	struct firefox_symbol row = {
		.lib = lib,
		.address = (int32_t)symbol->rva,
		.size = symbol->size,
	};
	uint64_t hash = hash_pair((uint32_t)row.lib, (uint32_t)row.address);
	uint32_t position = index_find(&f->symbol_index, hash, symbol_equal, f, &row);

	if (position == INDEX_NONE) {
		position = (uint32_t)f->symbols.count;
		row.name = firefox_string(f, symbol->name);
		vec_push(&f->symbols, row);
		index_add(&f->symbol_index, hash, position);
	}
	return position;
}

/* The file requires that a frame's native symbol covers its address. */
static uint32_t find_symbol(struct firefox *f, symbol_id id, const struct firefox_frame *frame)
{
	const struct symbol *symbol;
	const struct firefox_symbol *row;

	if (id == NO_SYMBOL || frame->lib == NO_LIB)
		return NO_POSITION;
	symbol = &f->profile->symbols.rows.items[id];
	if (symbol->rva > (uint64_t)frame->address || symbol->module == NO_MODULE ||
	    f->module_libs[symbol->module] != frame->lib ||
	    !string_overlay_size(&f->texts, symbol->name))
		return NO_POSITION;
	if (f->symbol_positions[id] == NO_POSITION)
		f->symbol_positions[id] = intern_symbol(f, symbol, frame->lib);
	row = &f->symbols.items[f->symbol_positions[id]];
	if (row->size && (uint64_t)frame->address - (uint64_t)row->address >= row->size)
		return NO_POSITION;
	return f->symbol_positions[id];
}

INDEX_EQUAL(func_equal, struct firefox, funcs,
	    a->name == b->name && a->resource == b->resource && a->source == b->source &&
		    a->line == b->line && a->column == b->column)

/*
 * Functions that differ in the profile may be equal here: their modules have no lib, or their names
 * differ in invalid bytes only.
 */
static uint32_t intern_func(struct firefox *f, const struct firefox_func *func)
{
	uint64_t place = hash_pair((uint64_t)func->line << 32 | func->column, func->source);
	uint64_t hash = hash_pair(hash_pair(func->name, (uint32_t)func->resource), place);
	uint32_t position = index_intern(&f->func_index, hash, func_equal, f, func, f->funcs.count);

	if (position == f->funcs.count)
		vec_push(&f->funcs, *func);
	return position;
}

/* The name of a nameless function: its frame's address. */
static uint32_t address_name(struct firefox *f, const struct frame *frame)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64,
		 modules_address(&f->profile->modules, frame->module, frame->offset));
	return firefox_string(f, string_overlay_intern(&f->texts, text));
}

static uint32_t find_func(struct firefox *f, const struct frame *frame)
{
	struct firefox_func row = {.resource = NO_LIB, .source = NO_POSITION};
	const struct func *func;
	uint32_t position;

	if (frame->func == NO_FUNC) {
		if (frame->module != NO_MODULE)
			row.resource = f->module_libs[frame->module];
		row.name = address_name(f, frame);
		return intern_func(f, &row);
	}
	if (f->func_positions[frame->func] != NO_POSITION)
		return f->func_positions[frame->func];
	func = &f->profile->funcs.rows.items[frame->func];
	if (func->module != NO_MODULE)
		row.resource = f->module_libs[func->module];
	row.source = find_source(f, func->file);
	row.line = func->line;
	row.column = func->column;
	row.is_js = func->is_js;
	if (!string_overlay_size(&f->texts, func->name)) {
		row.name = address_name(f, frame);
		return intern_func(f, &row);
	}
	row.name = firefox_string(f, func->name);
	position = intern_func(f, &row);
	f->func_positions[frame->func] = position;
	return position;
}

/* Code outside of files has neither lib nor address. Addresses must fit into 31 bits. */
static void place_frame(struct firefox *f, const struct frame *frame, struct firefox_frame *row)
{
	const struct module *module;
	uint64_t rva;

	row->lib = NO_LIB;
	row->address = NO_ADDRESS;
	if (frame->module == NO_MODULE)
		return;
	module = &f->profile->modules.rows.items[frame->module];
	if (module->kind == PROFILE_MODULE_ANON || module->kind == PROFILE_MODULE_KERNEL_DYNAMIC)
		return;
	if (!module_offset_to_rva(module, frame->offset, &rva) || rva > INT32_MAX)
		return;
	row->lib = firefox_lib(f, frame->module);
	row->address = (int32_t)rva;
}

/* Assigns positions to used categories and to the default one, which must not be missing. */
static void place_categories(struct firefox *f)
{
	uint8_t position = 0;

	/* All categories of the profile's own are written. */
	for (size_t i = 0; i < f->profile->categories.count; i++)
		f->category_positions[i] = (uint8_t)i;
	if (f->profile->categories.count)
		return;
	f->has_category[CATEGORY_OTHER] = true;
	firefox_use_marker_categories(f);
	vec_for_each(&f->frames, const struct firefox_frame *, frame) {
		if (frame->category.category < CATEGORY_COUNT)
			f->has_category[frame->category.category] = true;
	}
	for (size_t i = 0; i < CATEGORY_COUNT; i++)
		f->category_positions[i] = f->has_category[i] ? position++ : UINT8_MAX;
	vec_for_each(&f->marker_categories, struct firefox_category *, row)
		row->position = position++;
}

static uint32_t *new_positions(size_t count)
{
	uint32_t *positions = xmalloc((count + 1) * sizeof(*positions));

	memset(positions, 0xff, (count + 1) * sizeof(*positions));
	return positions;
}

/* Makes the stacks of the rows of CPUs, and the frames of programs. */
static void add_cpu_stacks(struct firefox *f)
{
	const struct profile *p = f->profile;

	vec_for_each(&f->rows.cpu_samples, struct cpu_sample *, ref) {
		if (ref->stack != NO_STACK)
			ref->stack = cpu_stacks_intern(
				&f->cpu_stacks, p, p->threads.rows.items[ref->thread].process_name,
				ref->stack);
	}
	vec_for_each(&f->cpu_stacks.programs, const string_id *, name) {
		const struct firefox_func func = {
			.name = firefox_string(f, *name),
			.resource = NO_LIB,
			.source = NO_POSITION,
		};

		vec_push(&f->frames, (struct firefox_frame){
					     .lib = NO_LIB,
					     .address = NO_ADDRESS,
					     .func = intern_func(f, &func),
					     .symbol = NO_POSITION,
				     });
	}
}

void firefox_tables_init(struct firefox *f)
{
	const struct frames *frames = &f->profile->frames;
	size_t count = frames->rows.count;
	_cleanup_free_ struct frame_category *categories_of = categories_of_frames(f->profile);

	/* NO_LIB has all bits set as well. */
	f->module_libs = (int32_t *)new_positions(f->profile->modules.rows.count);
	f->func_positions = new_positions(f->profile->funcs.rows.count);
	f->symbol_positions = new_positions(f->profile->symbols.rows.count);
	vec_reserve(&f->frames, count);
	f->frames.count = count;
	for (size_t i = 0; i < count; i++) {
		struct firefox_frame *row = &f->frames.items[i];

		place_frame(f, &frames->rows.items[i], row);
		row->line = frames->rows.items[i].line;
		row->inline_depth = frames->rows.items[i].inline_depth;
		row->category = categories_of[i];
		row->symbol = find_symbol(f, frames->rows.items[i].symbol, row);
	}
	place_categories(f);
	/* All frames have marked their modules as libs by now. */
	for (size_t i = 0; i < count; i++)
		f->frames.items[i].func = find_func(f, &frames->rows.items[i]);
	add_cpu_stacks(f);
}

void firefox_tables_release(struct firefox *f)
{
	vec_release(&f->marker_categories);
	vec_release(&f->strings);
	vec_release(&f->string_positions);
	vec_release(&f->libs);
	index_release(&f->lib_index);
	free(f->module_libs);
	vec_release(&f->frames);
	cpu_stacks_release(&f->cpu_stacks);
	vec_release(&f->funcs);
	index_release(&f->func_index);
	free(f->func_positions);
	vec_release(&f->symbols);
	index_release(&f->symbol_index);
	free(f->symbol_positions);
	vec_release(&f->sources);
	index_release(&f->source_index);
}
