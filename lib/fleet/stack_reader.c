/* SPDX-License-Identifier: MIT */
#include "lib/fleet/stack_reader.h"

#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/fleet/engine.h"
#include "lib/fleet/frame_kinds.h"

/* Deeper stacks are not recorded by anyone. */
#define DEPTH_MAX 100000
/* Numbers of categories are bytes; the last one has a meaning of its own. */
#define CATEGORIES_MAX UINT8_MAX
#define DEFAULT_COLOR "grey"
#define OTHER "Other"

/* The columns of one frame. */
struct cells {
	char *name, *file, *module, *build_id, *kind, *category, *subcategory;
	uint32_t line, function_line, function_column;
	uint64_t address;
	uint16_t inline_depth;
	uint8_t is_named;
};

static const size_t texts[] = {
	offsetof(struct cells, name),	     offsetof(struct cells, file),
	offsetof(struct cells, module),	     offsetof(struct cells, build_id),
	offsetof(struct cells, kind),	     offsetof(struct cells, category),
	offsetof(struct cells, subcategory),
};

void stack_reader_release(struct stack_reader *r)
{
	vec_release(&r->rows);
	index_release(&r->index);
}

static void cells_release(struct cells *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
			free(*(char **)((char *)&cells[i] + texts[k]));
	}
	free(cells);
}

static bool key_equal(const void *table, uint32_t id, const void *key)
{
	const struct stack_reader *r = table;

	return memcmp(&r->rows.items[id].key, key, sizeof(struct stack_key)) == 0;
}

static uint64_t hash_key(const struct stack_key *key)
{
	return hash_bytes(key, sizeof(*key), 0);
}

stack_id stack_reader_find(const struct stack_reader *r, const struct stack_key *key)
{
	uint32_t at = index_find(&r->index, hash_key(key), key_equal, r, key);

	return at == INDEX_NONE ? NO_STACK : r->rows.items[at].stack;
}

static const char *color_of(const char *name)
{
	for (int i = 0; i < CATEGORY_COUNT; i++) {
		if (strcmp(categories[i]->name, name) == 0)
			return categories[i]->color;
	}
	return DEFAULT_COLOR;
}

/* Returns the number of a category of that name; 0: there are too many. */
static uint8_t find_category(struct profile *p, const char *name)
{
	struct profile_category row = {0};

	for (size_t i = 0; i < p->categories.count; i++) {
		if (strcmp(p->categories.items[i].name, name) == 0)
			return (uint8_t)i;
	}
	if (p->categories.count == CATEGORIES_MAX)
		return 0;
	row.name = xstrdup(name);
	row.color = xstrdup(color_of(name));
	vec_push(&row.subcategories, xstrdup(OTHER));
	vec_push(&p->categories, row);
	return (uint8_t)(p->categories.count - 1);
}

static uint8_t find_subcategory(struct profile *p, uint8_t category, const char *name)
{
	struct profile_category *row = &p->categories.items[category];

	for (size_t i = 0; i < row->subcategories.count; i++) {
		if (strcmp(row->subcategories.items[i], name) == 0)
			return (uint8_t)i;
	}
	if (!*name || row->subcategories.count == CATEGORIES_MAX)
		return 0;
	vec_push(&row->subcategories, xstrdup(name));
	return (uint8_t)(row->subcategories.count - 1);
}

static uint8_t kind_of(const char *name)
{
	for (size_t i = 0; i < FLEET_KIND_COUNT; i++) {
		if (strcmp(fleet_kind_names[i], name) == 0)
			return (uint8_t)i;
	}
	return PROFILE_FRAME_NATIVE;
}

static func_id add_func(struct profile *p, const struct cells *c, module_id module)
{
	struct func func = {
		.name = strings_intern(&p->strings, c->name),
		.module = module,
		.file = NO_SOURCE_FILE,
		.line = c->function_line,
		.column = c->function_column,
		.is_js = strcmp(c->kind, FLEET_KIND_SCRIPT) == 0,
		.is_named = c->is_named,
	};

	if (*c->file)
		func.file = source_files_intern(&p->source_files,
						strings_intern(&p->strings, c->file));
	return funcs_intern(&p->funcs, &func);
}

static frame_id add_frame(struct foreign *f, const struct cells *c)
{
	struct profile *p = f->profile;
	struct frame frame = {
		.module = foreign_module(f, c->module, c->build_id),
		.func = NO_FUNC,
		.offset = c->address,
		.symbol = NO_SYMBOL,
		.line = c->line,
		.inline_depth = c->inline_depth,
		.kind = kind_of(c->kind),
		.language = LANGUAGE_NONE,
		.category = find_category(p, *c->category ? c->category : OTHER),
	};

	frame.subcategory = find_subcategory(p, frame.category, c->subcategory);
	if (*c->name)
		frame.func = add_func(p, c, frame.module);
	else
		p->meta.symbolicated = false;
	return frames_intern(&p->frames, &frame);
}

typedef void cell_fn(struct bytes *b, void *at);

static void take_text(struct bytes *b, void *at)
{
	*(char **)at = rows_take_text(b);
}

static void take_u8(struct bytes *b, void *at)
{
	*(uint8_t *)at = bytes_u8(b);
}

static void take_u16(struct bytes *b, void *at)
{
	*(uint16_t *)at = bytes_u16(b);
}

static void take_u32(struct bytes *b, void *at)
{
	*(uint32_t *)at = bytes_u32(b);
}

static void take_u64(struct bytes *b, void *at)
{
	*(uint64_t *)at = bytes_u64(b);
}

/* In the order of STACK_COLUMNS. */
static const struct column {
	cell_fn *take;
	size_t offset;
} columns[] = {
	{take_text, offsetof(struct cells, name)},
	{take_u8, offsetof(struct cells, is_named)},
	{take_text, offsetof(struct cells, file)},
	{take_u32, offsetof(struct cells, line)},
	{take_u32, offsetof(struct cells, function_line)},
	{take_u32, offsetof(struct cells, function_column)},
	{take_text, offsetof(struct cells, module)},
	{take_text, offsetof(struct cells, build_id)},
	{take_u64, offsetof(struct cells, address)},
	{take_text, offsetof(struct cells, kind)},
	{take_u16, offsetof(struct cells, inline_depth)},
	{take_text, offsetof(struct cells, category)},
	{take_text, offsetof(struct cells, subcategory)},
};

/* False: arrays differ in length, or end early. */
static bool read_cells(struct bytes *b, struct cells **cells, size_t *count)
{
	*cells = NULL;
	*count = rows_take_count(b, 1);
	if (b->failed || *count > DEPTH_MAX)
		return false;
	*cells = xcalloc(*count + 1, sizeof(**cells));
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		if (i && rows_take_count(b, 1) != *count)
			return false;
		for (size_t k = 0; k < *count; k++)
			columns[i].take(b, (char *)&(*cells)[k] + columns[i].offset);
	}
	return !b->failed;
}

static int read_row(struct stack_reader *r, struct bytes *b, struct error *err)
{
	struct stacks *stacks = &r->f->profile->stacks;
	stack_id stack = NO_STACK;
	struct stack_key key = {{0}};
	const void *at = bytes_take(b, sizeof(key));
	struct cells *cells;
	size_t count;

	if (at)
		memcpy(&key, at, sizeof(key));
	if (!read_cells(b, &cells, &count)) {
		cells_release(cells, cells ? count : 0);
		return engine_damaged(err);
	}
	if (index_find(&r->index, hash_key(&key), key_equal, r, &key) == INDEX_NONE) {
		for (size_t i = count; i-- > 0;)
			stack = stacks_intern(stacks, stack, add_frame(r->f, &cells[i]));
		index_add(&r->index, hash_key(&key), (uint32_t)r->rows.count);
		vec_push(&r->rows, (__typeof__(*r->rows.items)){key, stack});
	}
	cells_release(cells, count);
	return 0;
}

int stack_reader_read(struct stack_reader *r, struct bytes *b, struct error *err)
{
	int ret = 0;

	find_category(r->f->profile, OTHER);
	while (bytes_left(b) && !ret)
		ret = read_row(r, b, err);
	return ret;
}
