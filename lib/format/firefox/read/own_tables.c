/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/own_tables.h"

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

void own_place_script(struct import *r, struct func *func)
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
