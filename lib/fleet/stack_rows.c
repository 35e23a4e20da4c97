/* SPDX-License-Identifier: MIT */
#include "lib/fleet/stack_rows.h"

#include "lib/fleet/engine.h"

/* Seeds of both halves of a key. */
#define SEED_LOW 0x70726f6600000001ull
#define SEED_HIGH 0x70726f6600000002ull

void stack_rows_init(struct stack_rows *s, const struct profile *p)
{
	*s = (struct stack_rows){.profile = p, .of_frames = categories_of_frames(p)};
	s->of_stacks = xcalloc(p->stacks.rows.count + 1, sizeof(*s->of_stacks));
}

void stack_rows_release(struct stack_rows *s)
{
	free(s->of_frames);
	free(s->of_stacks);
	vec_release(&s->rows);
	index_release(&s->index);
	strbuf_release(&s->text);
}

static const struct func *func_of(const struct profile *p, stack_id stack)
{
	func_id func = profile_frame_of(p, stack)->func;

	return func == NO_FUNC ? NULL : &p->funcs.rows.items[func];
}

static const struct module *module_of(const struct profile *p, stack_id stack)
{
	module_id module = profile_frame_of(p, stack)->module;

	return module == NO_MODULE ? NULL : &p->modules.rows.items[module];
}

static struct frame_category category_of(const struct stack_rows *s, stack_id stack)
{
	const struct stacks *stacks = &s->profile->stacks;

	for (; stack != NO_STACK; stack = stacks->rows.items[stack].parent) {
		struct frame_category own = s->of_frames[stacks->rows.items[stack].frame];

		if (own.category != CATEGORY_OF_CALLER)
			return own;
	}
	return (struct frame_category){0, 0};
}

/* Appends the column's value for a stack's innermost frame. */
typedef void column_fn(const struct stack_rows *s, stack_id stack, struct strbuf *out);

static void add_name(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	const struct func *func = func_of(s->profile, stack);

	rows_add_text(out, func ? strings_get(&s->profile->strings, func->name) : "");
}

static void add_is_named(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	const struct func *func = func_of(s->profile, stack);

	rows_add_u8(out, func && func->is_named);
}

static void add_file(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	const struct profile *p = s->profile;
	const struct func *func = func_of(p, stack);

	rows_add_text(
		out, func && func->file != NO_SOURCE_FILE
			     ? strings_get(&p->strings, p->source_files.rows.items[func->file].path)
			     : "");
}

static void add_line(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	rows_add_u32(out, profile_frame_of(s->profile, stack)->line);
}

static void add_function_line(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	const struct func *func = func_of(s->profile, stack);

	rows_add_u32(out, func ? func->line : 0);
}

static void add_function_column(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	const struct func *func = func_of(s->profile, stack);

	rows_add_u32(out, func ? func->column : 0);
}

static void add_module(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	const struct strings *strings = &s->profile->strings;
	const struct module *module = module_of(s->profile, stack);
	const char *path = module ? strings_get(strings, module->path) : "";

	rows_add_text(out, module && !*path ? strings_get(strings, module->name) : path);
}

static void add_build_id(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	const struct module *module = module_of(s->profile, stack);
	char text[MODULE_BUILD_ID_TEXT] = "";

	if (module)
		module_build_id_text(module, text);
	rows_add_text(out, text);
}

static void add_address(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	const struct frame *frame = profile_frame_of(s->profile, stack);

	rows_add_u64(out, modules_address(&s->profile->modules, frame->module, frame->offset));
}

static void add_kind(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	const struct func *func = func_of(s->profile, stack);
	uint8_t kind = profile_frame_of(s->profile, stack)->kind;

	rows_add_text(out, func && func->is_js ? FLEET_KIND_SCRIPT : fleet_kind_names[kind]);
}

static void add_inline_depth(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	rows_add_u16(out, profile_frame_of(s->profile, stack)->inline_depth);
}

static void add_category(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	rows_add_text(out, category_name(s->profile, category_of(s, stack).category));
}

static const char *subcategory_of(const struct stack_rows *s, stack_id stack)
{
	return subcategory_name(s->profile, category_of(s, stack)) ?: "";
}

static void add_subcategory(const struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	rows_add_text(out, subcategory_of(s, stack));
}

/* In the order of the table's columns. */
static column_fn *const columns[] = {
	add_name,	 add_is_named,	    add_file,
	add_line,	 add_function_line, add_function_column,
	add_module,	 add_build_id,	    add_address,
	add_kind,	 add_inline_depth,  add_category,
	add_subcategory,
};

/* Adds the innermost frame first. */
static void add_columns(struct stack_rows *s, stack_id stack, struct strbuf *out)
{
	const struct stacks *stacks = &s->profile->stacks;
	size_t depth = 0;

	for (stack_id at = stack; at != NO_STACK; at = stacks->rows.items[at].parent)
		depth++;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		rows_add_count(out, depth);
		for (stack_id at = stack; at != NO_STACK; at = stacks->rows.items[at].parent)
			columns[i](s, at, out);
	}
}

static bool is_guessed(const struct stack_rows *s, stack_id stack)
{
	const struct stacks *stacks = &s->profile->stacks;

	for (; stack != NO_STACK; stack = stacks->rows.items[stack].parent) {
		if (profile_frame_of(s->profile, stack)->kind == PROFILE_FRAME_GUESS ||
		    strcmp(subcategory_of(s, stack), "Guess") == 0)
			return true;
	}
	return false;
}

static bool key_equal(const void *table, uint32_t id, const void *key)
{
	const struct stack_rows *s = table;

	return memcmp(&s->rows.items[id].key, key, sizeof(struct stack_key)) == 0;
}

uint32_t stack_rows_intern(struct stack_rows *s, stack_id stack)
{
	uint32_t *known = &s->of_stacks[stack == NO_STACK ? s->profile->stacks.rows.count : stack];
	struct stack_row row = {.stack = stack};
	uint64_t low, high;
	uint32_t id;

	if (*known)
		return *known - 1;
	strbuf_reset(&s->text);
	add_columns(s, stack, &s->text);
	low = hash_bytes(s->text.text, s->text.size, SEED_LOW);
	high = hash_bytes(s->text.text, s->text.size, SEED_HIGH);
	memcpy(row.key.bytes, &low, sizeof(low));
	memcpy(row.key.bytes + sizeof(low), &high, sizeof(high));
	id = index_find(&s->index, low, key_equal, s, &row.key);
	if (id == INDEX_NONE) {
		id = (uint32_t)s->rows.count;
		row.is_wait = stack != NO_STACK &&
			      strcmp(category_name(s->profile, category_of(s, stack).category),
				     categories[CATEGORY_IDLE]->name) == 0;
		row.is_guessed = is_guessed(s, stack);
		row.is_unnamed = stack != NO_STACK && !(func_of(s->profile, stack) &&
							func_of(s->profile, stack)->is_named);
		index_add(&s->index, low, id);
		vec_push(&s->rows, row);
	}
	*known = id + 1;
	return id;
}

void stack_rows_write(struct stack_rows *s, uint32_t row, struct strbuf *out)
{
	strbuf_add(out, &s->rows.items[row].key, sizeof(struct stack_key));
	add_columns(s, s->rows.items[row].stack, out);
}
