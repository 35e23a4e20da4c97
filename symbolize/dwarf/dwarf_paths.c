/* SPDX-License-Identifier: MIT */
/* Source files of a unit as whole paths; the caches of paths and names. */
#include <dwarf.h>
#include <limits.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "symbolize/dwarf/debug_info.h"

static bool equal_place(const void *table, uint32_t id, const void *key)
{
	const struct caches *caches = table;

	return caches->rows.items[id].place == key;
}

const struct cached *caches_find(const struct caches *caches, const void *place)
{
	uint64_t hash = hash_u64((uintptr_t)place);
	uint32_t row = index_find(&caches->index, hash, equal_place, caches, place);

	return row == INDEX_NONE ? NULL : &caches->rows.items[row];
}

void caches_add(struct caches *caches, const void *place, const void *value)
{
	index_add(&caches->index, hash_u64((uintptr_t)place), (uint32_t)caches->rows.count);
	vec_push(&caches->rows, (struct cached){place, value});
}

void caches_release(struct caches *caches)
{
	vec_release(&caches->rows);
	index_release(&caches->index);
}

void path_set_release(struct path_set *set)
{
	vec_release(&set->rows);
	index_release(&set->index);
}

static bool equal_path(const void *table, uint32_t id, const void *key)
{
	const struct path_set *set = table;

	return strcmp(set->rows.items[id], key) == 0;
}

static const char *intern_path(struct debug_info *info, const char *path)
{
	struct path_set *set = &info->paths;
	size_t size = strlen(path);
	uint64_t hash = hash_bytes(path, size, 0);
	uint32_t row = index_find(&set->index, hash, equal_path, set, path);

	if (row != INDEX_NONE)
		return set->rows.items[row];
	index_add(&set->index, hash, (uint32_t)set->rows.count);
	vec_push(&set->rows, arena_strndup(&info->arena, path, size));
	return vec_last(&set->rows);
}

/* Prefixes a relative path with its directory. */
static void put_in_front(struct strbuf *path, const char *dir)
{
	_cleanup_(strbuf_release) struct strbuf joined = {0};

	if (!dir || !*dir || strbuf_text(path)[0] == '/' || strnlen(dir, PATH_MAX) == PATH_MAX)
		return;
	strbuf_adds(&joined, dir);
	strbuf_addch(&joined, '/');
	strbuf_add(&joined, path->text, path->size);
	strbuf_reset(path);
	strbuf_add(path, joined.text, joined.size);
}

static void put_absolute_in_front(struct strbuf *path, const char *dir)
{
	if (dir && *dir == '/')
		put_in_front(path, dir);
}

/*
 * Directories are relative to the unit's own, which DWARF 5 repeats as number 0. If the build hid
 * that one, a relative path says more without it.
 */
static void build_path(struct debug_info *info, struct unit *unit, const struct line_file *file,
		       struct strbuf *path)
{
	const struct line_table *lines = &unit->detail->lines;

	strbuf_adds(path, file->name);
	if (file->dir < lines->dirs.count)
		put_in_front(path, lines->dirs.items[file->dir]);
	if (lines->dirs.count)
		put_absolute_in_front(path, lines->dirs.items[0]);
	put_absolute_in_front(path, attribute_text(info, &unit->die, DW_AT_comp_dir));
}

const char *unit_file(struct debug_info *info, struct unit *unit, uint64_t number)
{
	struct line_table *lines = &unit->detail->lines;
	struct strbuf path = {0};
	struct line_file *file;

	if (number >= lines->files.count)
		return NULL;
	file = &lines->files.items[number];
	if (file->path || !file->name || strnlen(file->name, PATH_MAX) == PATH_MAX)
		return file->path;
	build_path(info, unit, file, &path);
	file->path = intern_path(info, path.text);
	strbuf_release(&path);
	return file->path;
}
