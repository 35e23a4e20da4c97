/* SPDX-License-Identifier: MIT */
#include "lib/base/file_set.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/index.h"
#include "lib/base/vec.h"

#define NO_ROW UINT32_MAX

/* Rows stay where they are, so that the index holds; they are chained by age or as free ones. */
struct file {
	uint32_t id;
	int fd;
	uint32_t older, newer;
};

struct file_set {
	VEC(struct file) files;
	struct index by_id;
	uint32_t oldest, newest, free_row;
	uint64_t limit;
	uint32_t dropped;
};

static bool has_id(const void *table, uint32_t row, const void *key)
{
	const struct file_set *files = table;

	return files->files.items[row].id == *(const uint32_t *)key;
}

static uint32_t find_row(const struct file_set *files, uint32_t id)
{
	return index_find(&files->by_id, hash_u64(id), has_id, files, &id);
}

struct file_set *file_set_new(unsigned int reserve)
{
	struct file_set *files = xcalloc(1, sizeof(*files));
	struct rlimit limit;

	files->oldest = files->newest = files->free_row = NO_ROW;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return files;
	if (limit.rlim_cur < limit.rlim_max) {
		struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};

		if (!setrlimit(RLIMIT_NOFILE, &raised))
			limit = raised;
	}
	files->limit = limit.rlim_cur > reserve ? limit.rlim_cur - reserve : 0;
	return files;
}

void file_set_free(struct file_set *files)
{
	if (!files)
		return;
	for (uint32_t row = files->oldest; row != NO_ROW; row = files->files.items[row].newer)
		close(files->files.items[row].fd);
	vec_release(&files->files);
	index_release(&files->by_id);
	free(files);
}

static void remove_row(struct file_set *files, uint32_t row)
{
	struct file *file = &files->files.items[row];

	index_remove(&files->by_id, hash_u64(file->id), row);
	close(file->fd);
	if (file->older == NO_ROW)
		files->oldest = file->newer;
	else
		files->files.items[file->older].newer = file->newer;
	if (file->newer == NO_ROW)
		files->newest = file->older;
	else
		files->files.items[file->newer].older = file->older;
	file->newer = files->free_row;
	files->free_row = row;
}

static uint32_t take_row(struct file_set *files)
{
	uint32_t row = files->free_row;

	if (row == NO_ROW) {
		row = (uint32_t)files->files.count;
		vec_add_zeroed(&files->files, 1);
	} else {
		files->free_row = files->files.items[row].newer;
	}
	return row;
}

void file_set_add(struct file_set *files, uint32_t id, int fd)
{
	uint32_t row = find_row(files, id);

	if (row != INDEX_NONE)
		remove_row(files, row);
	if (fd < 0)
		return;
	if (!files->limit) {
		close(fd);
		files->dropped++;
		return;
	}
	if (files->by_id.count >= files->limit) {
		remove_row(files, files->oldest);
		files->dropped++;
	}
	row = take_row(files);
	files->files.items[row] =
		(struct file){.id = id, .fd = fd, .older = files->newest, .newer = NO_ROW};
	if (files->newest == NO_ROW)
		files->oldest = row;
	else
		files->files.items[files->newest].newer = row;
	files->newest = row;
	index_add(&files->by_id, hash_u64(id), row);
}

int file_set_find(const struct file_set *files, uint32_t id)
{
	uint32_t row = find_row(files, id);

	return row == INDEX_NONE ? -1 : files->files.items[row].fd;
}

uint32_t file_set_dropped(const struct file_set *files)
{
	return files->dropped;
}
