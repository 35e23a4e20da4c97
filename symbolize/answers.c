/* SPDX-License-Identifier: MIT */
#include "symbolize/answers.h"

/*
 * Name the physical function by its symbol, which distinguishes clones, and inlined ones by DWARF.
 */
static void add_levels(struct answers *n, const struct answer *answer)
{
	for (size_t i = 0; i < answer->depth; i++) {
		const struct location *at = &answer->chain[i];
		bool has_symbol = !i && answer->func;
		const char *func = has_symbol ? answer->func : at->func;

		vec_push(&n->levels,
			 (struct named_level){
				 .func = string_pool_add(&n->funcs, func),
				 .file = string_pool_add(&n->files, at->file),
				 .line = at->line,
				 .is_named = has_symbol ? !answer->is_synthetic : !!func,
			 });
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
		.has_symbol = answer->func,
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
		if (size > room)
			size = room;
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
