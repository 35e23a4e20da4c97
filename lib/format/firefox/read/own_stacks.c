/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/firefox/read/grid.h"
#include "lib/format/firefox/read/own_tables.h"
#include "lib/model/meaning/categories.h"

/* First version of processed profiles in which stacks have no categories of their own. */
#define PROCESSED_FRAME_CATEGORIES 53
/* First versions of both with a list of categories; before, categories were bits. */
#define PROCESSED_CATEGORY_LIST 12
#define GECKO_CATEGORY_LIST 11
/* First versions in which the entries of scripts have no name of their own. */
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
	struct json_cursor_list list = {0};
	struct {
		VEC(string_id) rows;
	} strings = {0};

	while (json_cursor_element(s, &list) && json_cursor_string(s, &text))
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

enum { PREFIX, FRAME, CATEGORY, SUBCATEGORY };

static void add_row(void *ctx)
{
	struct import *r = ctx;

	vec_push(&r->own->stacks, (struct own_stack){-1, -1, -1, -1});
}

static void read_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
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
	case CATEGORY:
		stack->category = number;
		break;
	default:
		stack->subcategory = number;
	}
}

/* Gives a frame without a category that of its stack, which older writers set there alone. */
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
	const struct grid_reader reader = {has_categories ? all : some, add_row, read_value, NULL,
					   r};
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
	struct json_cursor_list list = {0};
	struct span key, value;

	*spans = (struct own_spans){0};
	while (json_cursor_member(&s, &list, &key)) {
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
