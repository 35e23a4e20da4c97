/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/frames.h"

void funcs_release(struct funcs *f)
{
	vec_release(&f->rows);
	index_release(&f->index);
}

INDEX_EQUAL(func_equal, struct funcs, rows,
	    a->name == b->name && a->module == b->module && a->file == b->file &&
		    a->line == b->line && a->column == b->column)

func_id funcs_intern(struct funcs *f, const struct func *func)
{
	uint64_t place = hash_pair((uint64_t)func->line << 32 | func->column, func->file);
	uint64_t hash = hash_pair((uint64_t)func->name << 32 | func->module, place);
	func_id id = index_intern(&f->index, hash, func_equal, f, func, f->rows.count);

	if (id == f->rows.count)
		vec_push(&f->rows, *func);
	return id;
}

void symbols_release(struct symbols *s)
{
	vec_release(&s->rows);
	index_release(&s->index);
}

INDEX_EQUAL(symbol_equal, struct symbols, rows, a->rva == b->rva && a->module == b->module)

symbol_id symbols_intern(struct symbols *s, const struct symbol *symbol)
{
	uint64_t hash = hash_pair(symbol->module, symbol->rva);
	symbol_id id = index_intern(&s->index, hash, symbol_equal, s, symbol, s->rows.count);

	if (id == s->rows.count)
		vec_push(&s->rows, *symbol);
	return id;
}

void source_files_release(struct source_files *s)
{
	vec_for_each(&s->rows, struct source_file *, file) {
		free(file->text);
		readers_release(&file->users);
	}
	vec_release(&s->rows);
	index_release(&s->index);
}

INDEX_HAS(source_file_equal, struct source_files, rows, path)

source_file_id source_files_intern(struct source_files *s, string_id path)
{
	uint64_t hash = hash_u64(path);
	source_file_id id = index_intern(&s->index, hash, source_file_equal, s, &path,
					 s->rows.count);

	if (id == s->rows.count)
		vec_push(&s->rows, (struct source_file){.path = path});
	return id;
}

void source_files_set_text(struct source_files *s, source_file_id id, char *text, size_t size)
{
	s->rows.items[id].text = text;
	s->rows.items[id].size = size;
}

void frames_release(struct frames *f)
{
	vec_release(&f->rows);
	index_release(&f->index);
}

/* Most frames differ only by offset: multiplying suffices for the other members. */
static uint64_t frame_hash(const struct frame *frame)
{
	uint64_t place = hash_pair((uint64_t)frame->module << 32 | frame->func, frame->offset);
	uint64_t rest = (uint64_t)frame->symbol << 32 | frame->line;
	uint64_t code = (uint32_t)frame->language << 8 | frame->tier;
	uint64_t category = (uint32_t)frame->category << 8 | frame->subcategory;

	rest ^= ((uint64_t)frame->inline_depth << 8 | frame->kind) << 20 ^ code << 48 ^
		category << 32;
	return place ^ rest * 0x9e3779b97f4a7c15ull;
}

INDEX_EQUAL(frame_equal, struct frames, rows,
	    a->offset == b->offset && a->module == b->module && a->func == b->func &&
		    a->symbol == b->symbol && a->line == b->line &&
		    a->inline_depth == b->inline_depth && a->kind == b->kind &&
		    a->language == b->language && a->tier == b->tier &&
		    a->category == b->category && a->subcategory == b->subcategory &&
		    a->role == b->role)

frame_id frames_intern(struct frames *f, const struct frame *frame)
{
	uint64_t hash = frame_hash(frame);
	frame_id id = index_intern(&f->index, hash, frame_equal, f, frame, f->rows.count);

	if (id == f->rows.count)
		vec_push(&f->rows, *frame);
	return id;
}

const struct frame *frames_get(const struct frames *f, frame_id id)
{
	return &f->rows.items[id];
}

void stacks_release(struct stacks *s)
{
	vec_release(&s->rows);
	index_release(&s->index);
}

INDEX_EQUAL(stack_equal, struct stacks, rows, a->parent == b->parent && a->frame == b->frame)

stack_id stacks_intern(struct stacks *s, stack_id parent, frame_id frame)
{
	struct stack stack = {parent, frame};
	uint64_t hash = hash_u64((uint64_t)parent << 32 | frame);
	stack_id id = INDEX_NONE;

	/*
	 * The newest stack has no children yet, as is the case for all stacks but the first of a
	 * new chain.
	 */
	if (parent == NO_STACK || parent + 1 != s->rows.count)
		id = index_find(&s->index, hash, stack_equal, s, &stack);

	if (id != INDEX_NONE)
		return id;
	id = (stack_id)s->rows.count;
	vec_push(&s->rows, stack);
	index_add(&s->index, hash, id);
	return id;
}

void stacks_mark(const struct stacks *s, stack_id stack, bool *used)
{
	for (; stack != NO_STACK && !used[stack]; stack = s->rows.items[stack].parent)
		used[stack] = true;
}
