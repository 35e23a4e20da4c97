/* SPDX-License-Identifier: MIT */
#include "symbolize/answers.h"

#include "symbolize/demangle.h"

ORDER(compare, struct place, COMPARE(a->rva, b->rva) ?: COMPARE(a->frame, b->frame))

/* Finds the group of a frame and its address there; false if no symbolizer could name it. */
static bool place_frame(struct profile *p, const struct frame *frame, size_t *group, uint64_t *rva)
{
	if (frame->module != NO_MODULE) {
		*group = frame->module;
		return module_offset_to_rva(modules_get(&p->modules, frame->module), frame->offset,
					    rva);
	}
	*group = p->modules.rows.count;
	*rva = frame->offset;
	return frame->kind == PROFILE_FRAME_KERNEL;
}

static void sort_groups(struct address_index *index)
{
	size_t start = 0;

	for (size_t i = 0; i < index->group_count; start = index->ends[i++])
		qsort(index->rows + start, index->ends[i] - start, sizeof(*index->rows), compare);
}

void address_index_collect(struct address_index *index, struct profile *p)
{
	size_t frame_count = p->frames.rows.count, group, total = 0;
	uint64_t rva;

	index->group_count = p->modules.rows.count + 1;
	index->ends = xcalloc(index->group_count, sizeof(*index->ends));
	for (size_t i = 0; i < frame_count; i++) {
		if (place_frame(p, frames_get(&p->frames, (frame_id)i), &group, &rva))
			index->ends[group]++;
	}
	/* Turn counts into starts; filling in the rows turns starts into ends. */
	for (size_t i = 0; i < index->group_count; i++) {
		size_t count = index->ends[i];

		index->ends[i] = total;
		total += count;
	}
	index->rows = xcalloc(total + 1, sizeof(*index->rows));
	for (size_t i = 0; i < frame_count; i++) {
		if (place_frame(p, frames_get(&p->frames, (frame_id)i), &group, &rva))
			index->rows[index->ends[group]++] = (struct place){rva, (frame_id)i};
	}
	sort_groups(index);
}

void address_index_release(struct address_index *index)
{
	free(index->rows);
	free(index->ends);
}

size_t address_index_count_distinct(const struct place *places, size_t count)
{
	size_t distinct = 0;

	for (size_t i = 0; i < count; i++)
		distinct += !i || places[i].rva != places[i - 1].rva;
	return distinct;
}

/* In a damaged file, each of many names can be as long as the file. */
#define MAX_TEXT 16384
#define MAX_COMPARED 65536

/* Truncates a long string. A hash distinguishes strings with the same beginning. */
static void add_cut(struct string_pool *t, const char *text, struct text *row)
{
	uint64_t hash = hash_bytes(text, strnlen(text, MAX_COMPARED), 0);
	_cleanup_free_ char *cut = xasprintf("%.*s… (cut, %08" PRIx32 ")", MAX_TEXT, text,
					     (uint32_t)hash);

	row->size = (uint32_t)strlen(cut);
	row->text = arena_strndup(&t->arena, cut, row->size);
}

static bool equal_source(const void *table, uint32_t id, const void *key)
{
	const struct string_pool *t = table;

	return t->rows.items[id].source == key;
}

/* Returns the number of a string; NO_TEXT for NULL. */
static uint32_t string_pool_add(struct string_pool *t, const char *text)
{
	struct text row = {.source = text, .id = NO_STRING};
	uint64_t hash = hash_u64((uintptr_t)text);
	uint32_t number;

	if (!text)
		return NO_TEXT;
	number = index_find(&t->index, hash, equal_source, t, text);
	if (number != INDEX_NONE)
		return number;
	if (t->is_mangled && demangle(text, &t->readable)) {
		row.size = (uint32_t)t->readable.size;
		row.text = arena_strndup(&t->arena, t->readable.text, row.size);
	} else if (strnlen(text, MAX_TEXT + 1) > MAX_TEXT) {
		add_cut(t, text, &row);
	} else {
		row.size = (uint32_t)strlen(text);
		row.text = arena_strndup(&t->arena, text, row.size);
	}
	number = (uint32_t)t->rows.count;
	vec_push(&t->rows, row);
	index_add(&t->index, hash, number);
	return number;
}

/* Ends adding: the sources may be freed now. */
static void string_pool_seal(struct string_pool *t)
{
	index_release(&t->index);
	strbuf_release(&t->readable);
}

/* Returns NO_STRING for NO_TEXT. */
static string_id string_pool_intern(struct string_pool *t, uint32_t number, struct strings *strings)
{
	struct text *row;

	if (number == NO_TEXT)
		return NO_STRING;
	row = &t->rows.items[number];
	if (row->id == NO_STRING)
		row->id = strings_intern_sized(strings, row->text, row->size);
	return row->id;
}

static void string_pool_release(struct string_pool *t)
{
	string_pool_seal(t);
	vec_release(&t->rows);
	arena_release(&t->arena);
}

/*
 * True if Cython generated the function for the body of `caller`, into which it is inlined. Both
 * have the same name in Python.
 */
static bool is_inner_half(const struct answers *n, const char *func, uint32_t row,
			  const char *caller, uint32_t caller_row)
{
	return func && caller && text_starts_with(func, "__pyx_pf_") &&
	       text_starts_with(caller, "__pyx_pw_") &&
	       strcmp(n->funcs.rows.items[row].text, n->funcs.rows.items[caller_row].text) == 0;
}

/* A symbol that may end before the address gives way to DWARF. */
static bool is_named_by_symbol(const struct answer *answer)
{
	return answer->func &&
	       !(answer->is_reach_guessed && answer->depth && answer->chain[0].func);
}

/*
 * Names the physical function by its symbol, which distinguishes clones, and inlined functions by
 * DWARF.
 */
static void add_levels(struct answers *n, const struct answer *answer)
{
	const char *caller = NULL;

	for (size_t i = 0; i < answer->depth; i++) {
		const struct location *at = &answer->chain[i];
		bool has_symbol = !i && is_named_by_symbol(answer);
		bool is_symbols = has_symbol && !(at->func && answer->has_source_name);
		const char *func = is_symbols ? answer->func : at->func;
		struct named_level level = {
			.func = string_pool_add(&n->funcs, func),
			.file = string_pool_add(&n->files, at->file),
			.line = at->line,
			.start_line = at->start_line,
			.is_named = is_symbols ? !answer->is_synthetic : !!func,
		};

		if (i && is_inner_half(n, func, level.func, caller, vec_last(&n->levels).func))
			vec_last(&n->levels) = level;
		else
			vec_push(&n->levels, level);
		caller = func;
	}
	if (!answer->depth)
		vec_push(&n->levels, (struct named_level){
					     .func = string_pool_add(&n->funcs, answer->func),
					     .file = NO_TEXT,
					     .is_named = !answer->is_synthetic,
				     });
}

void answers_add(struct answers *n, const struct answer *answer, size_t first, size_t count)
{
	struct named row = {
		.func_start = answer->func_start,
		.func_size = answer->func_size,
		.first_level = n->levels.count,
		.place = (uint32_t)first,
		.place_count = (uint32_t)count,
		.has_symbol = is_named_by_symbol(answer),
	};

	if (!answer->func && !answer->depth)
		return;
	n->funcs.is_mangled = true;
	add_levels(n, answer);
	row.depth = (uint32_t)(n->levels.count - row.first_level);
	vec_push(&n->rows, row);
}

void answers_seal(struct answers *n)
{
	string_pool_seal(&n->funcs);
	string_pool_seal(&n->files);
}

struct chain {
	VEC(struct frame_name) rows;
};

static void intern_chain(struct answers *n, const struct named *row, struct strings *strings,
			 struct chain *chain)
{
	vec_clear(&chain->rows);
	for (size_t i = 0; i < row->depth; i++) {
		const struct named_level *level = &n->levels.items[row->first_level + i];

		vec_push(&chain->rows,
			 (struct frame_name){
				 .func = string_pool_intern(&n->funcs, level->func, strings),
				 .file = string_pool_intern(&n->files, level->file, strings),
				 .line = level->line,
				 .start_line = level->start_line,
				 .is_named = level->is_named,
			 });
	}
}

void answers_apply(struct answers *n, module_id module, const struct place *places,
		   struct profile *p, struct expand_inlines *expand)
{
	struct chain chain = {0};

	vec_for_each(&n->rows, const struct named *, row) {
		symbol_id symbol = NO_SYMBOL;
		uint64_t size = row->func_size, room = MODULE_CODE_MAX;

		if (module != NO_MODULE)
			room = module_bytes_from(modules_get(&p->modules, module), row->func_start);
		size = MIN(size, room);
		intern_chain(n, row, &p->strings, &chain);
		if (row->has_symbol && module != NO_MODULE)
			symbol = symbols_intern(&p->symbols,
						&(struct symbol){
							.module = module,
							.name = chain.rows.items[0].func,
							.rva = row->func_start,
							.size = size,
						});
		for (size_t i = 0; i < row->place_count; i++)
			expand_inlines_answer(expand, places[row->place + i].frame, symbol,
					      chain.rows.items, chain.rows.count);
	}
	vec_release(&chain.rows);
}

void answers_release(struct answers *n)
{
	free(n->debug_path);
	vec_release(&n->rows);
	vec_release(&n->levels);
	string_pool_release(&n->funcs);
	string_pool_release(&n->files);
}

#define BLOCK_SIZE ((size_t)64 << 10)

void *arena_alloc(struct arena *a, size_t size)
{
	char *start;

	size = (size + 7) & ~(size_t)7;
	if (size > a->size - a->used) {
		a->size = size > BLOCK_SIZE ? size : BLOCK_SIZE;
		a->used = 0;
		vec_push(&a->blocks, xmalloc(a->size));
	}
	start = vec_last(&a->blocks) + a->used;
	a->used += size;
	return start;
}

char *arena_strndup(struct arena *a, const char *text, size_t size)
{
	char *copy = arena_alloc(a, size + 1);

	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

void arena_release(struct arena *a)
{
	vec_for_each(&a->blocks, char **, it)
		free(*it);
	vec_release(&a->blocks);
	a->used = a->size = 0;
}
