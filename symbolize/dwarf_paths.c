/* SPDX-License-Identifier: MIT */
/* Source files of a unit, as whole paths; and what is remembered about them and about names. */
#include <dwarf.h>
#include <limits.h>
#include <string.h>

#include "symbolize/debug_info.h"

static bool equal_place(const void *table, uint32_t id, const void *key)
{
	const struct memos *memos = table;

	return memos->rows.items[id].place == key;
}

const struct memo *memos_find(const struct memos *memos, const void *place)
{
	uint64_t hash = hash_u64((uintptr_t)place);
	uint32_t row = index_find(&memos->index, hash, equal_place, memos, place);

	return row == INDEX_NONE ? NULL : &memos->rows.items[row];
}

void memos_add(struct memos *memos, const void *place, const char *text)
{
	index_add(&memos->index, hash_u64((uintptr_t)place), (uint32_t)memos->rows.count);
	vec_push(&memos->rows, (struct memo){place, text});
}

void memos_release(struct memos *memos)
{
	vec_release(&memos->rows);
	index_release(&memos->index);
}

static const char *join(struct arena *arena, const char *dir, const char *path)
{
	size_t dir_size = strlen(dir), path_size = strlen(path);
	char *joined = arena_alloc(arena, dir_size + 1 + path_size + 1);

	memcpy(joined, dir, dir_size);
	joined[dir_size] = '/';
	memcpy(joined + dir_size + 1, path, path_size + 1);
	return joined;
}

const char *unit_path(struct debug_info *info, const struct unit *unit, const char *path)
{
	const struct memo *known;
	Dwarf_Die die = unit->die;
	const char *dir;

	if (!path || *path == '/')
		return path;
	known = memos_find(&info->paths, path);
	if (known)
		return known->text;
	/* Where the build hid its directory both are relative, and repeat each other. */
	dir = attribute_text(info, &die, DW_AT_comp_dir);
	if (dir && *dir == '/' && strlen(dir) + strlen(path) < PATH_MAX)
		memos_add(&info->paths, path, join(&info->arena, dir, path));
	else
		memos_add(&info->paths, path, path);
	return vec_last(&info->paths.rows).text;
}

const char *unit_file(struct debug_info *info, const struct unit *unit, uint64_t number)
{
	const char *path;

	if (!unit->detail->files || number >= unit->detail->file_count)
		return NULL;
	path = dwarf_filesrc(unit->detail->files, number, NULL, NULL);
	/* That is how libdw fills the place of number 0, which older versions of DWARF leave free.
	 */
	if (!path || strcmp(path, "???") == 0)
		return NULL;
	return unit_path(info, unit, path);
}
