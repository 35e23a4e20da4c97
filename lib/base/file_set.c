/* SPDX-License-Identifier: MIT */
#include "lib/base/file_set.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/index.h"
#include "lib/base/vec.h"

#define NO_ROW UINT32_MAX
/* Containers, more or less. */
#define MAX_ROOTS 256
/* Ids count up from 0; one that does not is nothing to make a table for. */
#define MAX_ROOT_ID (1u << 24)

/* Rows stay where they are, so that the index holds; they are chained by age or as free ones. */
struct file {
	uint32_t id;
	int fd;
	uint32_t older, newer;
};

/* Mounts are told apart, too: what is mounted below differs. */
struct root {
	uint64_t mount, inode;
	int fd;
};

struct process_root {
	uint32_t pid;
	uint32_t root; /* 1 + row in roots; 0: none */
};

struct file_set {
	VEC(struct file) files;
	VEC(struct root) roots;
	VEC(uint32_t) root_of; /* by id: 1 + row in roots; 0: none */
	VEC(struct process_root) processes;
	VEC(int) held;
	struct index by_id, by_pid;
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
	vec_for_each(&files->roots, struct root *, it)
		close(it->fd);
	vec_release(&files->roots);
	vec_release(&files->root_of);
	vec_for_each(&files->held, const int *, fd)
		close(*fd);
	vec_release(&files->held);
	vec_release(&files->processes);
	index_release(&files->by_pid);
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

/* 1 + the row of that folder, which is new where it is none of those before; 0: no room. */
static uint32_t take_root(struct file_set *files, int fd, bool *is_new)
{
	struct root root = {.fd = fd};
	struct statx st;

	*is_new = false;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &st) != 0) {
		close(fd);
		return 0;
	}
	root.mount = st.stx_mnt_id;
	root.inode = st.stx_ino;
	for (size_t i = 0; i < files->roots.count; i++) {
		const struct root *known = &files->roots.items[i];

		if (known->mount == root.mount && known->inode == root.inode) {
			close(fd);
			return (uint32_t)i + 1;
		}
	}
	if (files->roots.count >= MAX_ROOTS) {
		close(fd);
		return 0;
	}
	vec_push(&files->roots, root);
	*is_new = true;
	return (uint32_t)files->roots.count;
}

bool file_set_add_root(struct file_set *files, uint32_t id, int fd)
{
	bool is_new;
	uint32_t row = take_root(files, fd, &is_new);

	if (!row || id >= MAX_ROOT_ID)
		return is_new;
	if (files->root_of.count <= id)
		vec_add_zeroed(&files->root_of, id + 1 - files->root_of.count);
	files->root_of.items[id] = row;
	return is_new;
}

int file_set_find_root(const struct file_set *files, uint32_t id)
{
	uint32_t row = id < files->root_of.count ? files->root_of.items[id] : 0;

	return row ? files->roots.items[row - 1].fd : 0;
}

static bool has_pid(const void *table, uint32_t row, const void *key)
{
	const struct file_set *files = table;

	return files->processes.items[row].pid == *(const uint32_t *)key;
}

static uint32_t find_process(const struct file_set *files, uint32_t pid)
{
	return index_find(&files->by_pid, hash_u64(pid), has_pid, files, &pid);
}

bool file_set_add_process_root(struct file_set *files, uint32_t pid, int fd)
{
	bool is_new;
	uint32_t row = find_process(files, pid), root = take_root(files, fd, &is_new);

	if (row != INDEX_NONE) {
		files->processes.items[row].root = root;
		return is_new;
	}
	index_add(&files->by_pid, hash_u64(pid), (uint32_t)files->processes.count);
	vec_push(&files->processes, (struct process_root){pid, root});
	return is_new;
}

int file_set_find_process_root(const struct file_set *files, uint32_t pid)
{
	uint32_t row = find_process(files, pid);
	uint32_t root = row == INDEX_NONE ? 0 : files->processes.items[row].root;

	return root ? files->roots.items[root - 1].fd : 0;
}

void file_set_hold(struct file_set *files, int fd)
{
	vec_push(&files->held, fd);
}

uint32_t file_set_dropped(const struct file_set *files)
{
	return files->dropped;
}
