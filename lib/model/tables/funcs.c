/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/funcs.h"

void funcs_release(struct funcs *f)
{
	vec_release(&f->rows);
	index_release(&f->index);
}

static bool func_equal(const void *table, uint32_t id, const void *key)
{
	const struct func *a = &((const struct funcs *)table)->rows.items[id], *b = key;

	return a->name == b->name && a->module == b->module && a->file == b->file &&
	       a->line == b->line && a->column == b->column;
}

func_id funcs_intern(struct funcs *f, const struct func *func)
{
	uint64_t place = hash_pair((uint64_t)func->line << 32 | func->column, func->file);
	uint64_t hash = hash_pair((uint64_t)func->name << 32 | func->module, place);
	func_id id = index_find(&f->index, hash, func_equal, f, func);

	if (id != INDEX_NONE)
		return id;
	id = (func_id)f->rows.count;
	vec_push(&f->rows, *func);
	index_add(&f->index, hash, id);
	return id;
}

void symbols_release(struct symbols *s)
{
	vec_release(&s->rows);
	index_release(&s->index);
}

static bool symbol_equal(const void *table, uint32_t id, const void *key)
{
	const struct symbol *a = &((const struct symbols *)table)->rows.items[id], *b = key;

	return a->rva == b->rva && a->module == b->module;
}

symbol_id symbols_intern(struct symbols *s, const struct symbol *symbol)
{
	uint64_t hash = hash_pair(symbol->module, symbol->rva);
	symbol_id id = index_find(&s->index, hash, symbol_equal, s, symbol);

	if (id != INDEX_NONE)
		return id;
	id = (symbol_id)s->rows.count;
	vec_push(&s->rows, *symbol);
	index_add(&s->index, hash, id);
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

static bool source_file_equal(const void *table, uint32_t id, const void *key)
{
	return ((const struct source_files *)table)->rows.items[id].path == *(const string_id *)key;
}

source_file_id source_files_intern(struct source_files *s, string_id path)
{
	uint64_t hash = hash_u64(path);
	source_file_id id = index_find(&s->index, hash, source_file_equal, s, &path);

	if (id != INDEX_NONE)
		return id;
	id = (source_file_id)s->rows.count;
	vec_push(&s->rows, (struct source_file){.path = path});
	index_add(&s->index, hash, id);
	return id;
}

void source_files_set_text(struct source_files *s, source_file_id id, char *text, size_t size)
{
	s->rows.items[id].text = text;
	s->rows.items[id].size = size;
}
