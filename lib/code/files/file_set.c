/* SPDX-License-Identifier: MIT */
#include "lib/code/files/file_set.h"

#include <limits.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Counts files per process, and finds the process with the most without a search. */

#define NO_OWNER UINT32_MAX

struct owner {
	uint32_t pid;
	uint32_t count;
	uint32_t before, after; /* list of owners with equal counts; for a free row, `after` is the
				   next free row */
};

/* A row keeps its index while its count is not 0. */
struct owner_counts {
	VEC(struct owner) rows;
	VEC(uint32_t) heads; /* by count: 1 + row of the first owner; 0: none */
	struct index by_pid;
	uint32_t largest; /* highest count of an owner; 0: none */
	uint32_t free_row; /* 1 + number of the first free row; 0: none */
};

/* Closes a file temporarily and reopens it only if it is still the same one. */

struct reopen {
	char *path;
	dev_t device;
	ino_t inode;
	off_t size;
	int64_t modified_ns;
};

/* A zeroed struct is empty. */
static void owner_counts_release(struct owner_counts *c)
{
	vec_release(&c->rows);
	vec_release(&c->heads);
	index_release(&c->by_pid);
}

INDEX_HAS(owner_counts_has_pid, struct owner_counts, rows, pid)

static void owner_counts_unlink_row(struct owner_counts *c, uint32_t row)
{
	const struct owner *o = &c->rows.items[row];

	if (o->before == NO_OWNER)
		c->heads.items[o->count] = o->after == NO_OWNER ? 0 : o->after + 1;
	else
		c->rows.items[o->before].after = o->after;
	if (o->after != NO_OWNER)
		c->rows.items[o->after].before = o->before;
}

static void owner_counts_link_row(struct owner_counts *c, uint32_t row)
{
	struct owner *o = &c->rows.items[row];
	uint32_t *head;

	if (c->heads.count <= o->count)
		vec_add_zeroed(&c->heads, o->count + 1 - c->heads.count);
	head = &c->heads.items[o->count];
	o->before = NO_OWNER;
	o->after = *head ? *head - 1 : NO_OWNER;
	if (*head)
		c->rows.items[*head - 1].before = row;
	*head = row + 1;
}

static uint32_t new_row(struct owner_counts *c, uint32_t pid)
{
	uint32_t row = c->free_row;

	if (row) {
		c->free_row = c->rows.items[--row].after;
	} else {
		row = (uint32_t)c->rows.count;
		vec_add_zeroed(&c->rows, 1);
	}
	c->rows.items[row] = (struct owner){.pid = pid};
	index_add(&c->by_pid, hash_u64(pid), row);
	return row;
}

/* Increments the process's count. Returns its row. */
static uint32_t owner_counts_add(struct owner_counts *c, uint32_t pid)
{
	uint32_t row = index_find(&c->by_pid, hash_u64(pid), owner_counts_has_pid, c, &pid);

	if (row == INDEX_NONE)
		row = new_row(c, pid);
	else
		owner_counts_unlink_row(c, row);
	c->rows.items[row].count++;
	owner_counts_link_row(c, row);
	if (c->rows.items[row].count > c->largest)
		c->largest = c->rows.items[row].count;
	return row;
}

/* Decrements the count of the row's process. */
static void owner_counts_remove(struct owner_counts *c, uint32_t row)
{
	struct owner *o = &c->rows.items[row];

	owner_counts_unlink_row(c, row);
	/* No other process has that count, so this one still has the most. */
	if (o->count == c->largest && !c->heads.items[o->count])
		c->largest--;
	if (--o->count) {
		owner_counts_link_row(c, row);
		return;
	}
	index_remove(&c->by_pid, hash_u64(o->pid), row);
	o->after = c->free_row;
	c->free_row = row + 1;
}

/* Returns a process with the highest count, or NO_OWNER. */
static uint32_t owner_counts_largest(const struct owner_counts *c)
{
	return c->largest ? c->heads.items[c->largest] - 1 : NO_OWNER;
}

static int64_t modified_ns(const struct stat *st)
{
	return st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec;
}

/* Notes the file's path and identity. Returns false if it no longer has a name. */
static bool reopen_remember(struct reopen *r, int fd)
{
	char name[32], path[PATH_MAX];
	struct stat st;
	ssize_t size;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	size = readlink(name, path, sizeof(path));
	if (size <= 0 || size == sizeof(path) || *path != '/' || fstat(fd, &st) != 0 ||
	    !S_ISREG(st.st_mode) || !st.st_nlink)
		return false;
	*r = (struct reopen){
		.path = xstrndup(path, (size_t)size),
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = st.st_size,
		.modified_ns = modified_ns(&st),
	};
	return true;
}

static bool is_same(const struct reopen *r, const struct stat *st)
{
	return st->st_dev == r->device && st->st_ino == r->inode && st->st_size == r->size &&
	       modified_ns(st) == r->modified_ns;
}

/*
 * Opens the path for reading, without following links, relative to the open folder `root`, or in
 * this process's root if that is 0. Returns a new descriptor, -ESTALE if the path now belongs to
 * another file, or another negative errno.
 */
static int reopen(const struct reopen *r, int root)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   (root > 0 ? RESOLVE_IN_ROOT : 0),
	};
	_cleanup_close_ int place = (int)syscall(SYS_openat2, root > 0 ? root : AT_FDCWD, r->path,
						 &how, sizeof(how));
	char name[32];
	struct stat st;
	int fd;

	if (place < 0 || fstat(place, &st) != 0)
		return -errno;
	if (!is_same(r, &st))
		return -ESTALE;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
	/* O_NONBLOCK: a lease held by the file's owner would block the open for a minute. */
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static void reopen_release(struct reopen *r)
{
	free(r->path);
	*r = (struct reopen){0};
}

#define NO_ROW UINT32_MAX
/* Maximum number of roots, about the number of containers. */
#define MAX_ROOTS 256
/* Ids count up from 0. Larger ones are damage, and must not make tables grow. */
#define MAX_ROOT_ID (1u << 24)

/* Maximum number of closed files that can be reopened. Further ones are dropped. */
#define MAX_CLOSED (1u << 17)

/*
 * Rows keep their index, so that the index stays valid. They are chained by age: per owner, or as
 * free rows.
 */
struct file {
	uint32_t id;
	int fd;
	uint32_t owner; /* row in owners; NO_OWNER: shared file */
	uint32_t older, newer;
};

struct ages {
	uint32_t oldest, newest; /* NO_ROW: none */
};

struct closed_file {
	uint32_t id;
	struct reopen how;
};

/* 1 + row in roots; 0: none */
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
	struct owner_counts owners;
	VEC(struct ages) ages; /* by row of owners */
	struct ages shared;
	VEC(struct closed_file) closed;
	uint32_t free_row;
	uint64_t limit;
	uint32_t dropped;
};

INDEX_HAS(has_id, struct file_set, files, id)

static uint32_t find_row(const struct file_set *files, uint32_t id)
{
	return index_find(&files->by_id, hash_u64(id), has_id, files, &id);
}

uint64_t file_limit_raise(void)
{
	struct rlimit limit, raised;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	raised = (struct rlimit){.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
	if (limit.rlim_cur < limit.rlim_max && !setrlimit(RLIMIT_NOFILE, &raised))
		return raised.rlim_cur;
	return limit.rlim_cur;
}

struct file_set *file_set_new(unsigned int reserve)
{
	struct file_set *files = xcalloc(1, sizeof(*files));
	uint64_t limit = file_limit_raise();

	files->shared = (struct ages){NO_ROW, NO_ROW};
	files->free_row = NO_ROW;
	files->limit = limit > reserve ? limit - reserve : 0;
	return files;
}

static struct ages *ages_of(struct file_set *files, uint32_t owner)
{
	return owner == NO_OWNER ? &files->shared : &files->ages.items[owner];
}

/* Links the row as its owner's youngest. */
static void link_row(struct file_set *files, uint32_t row)
{
	struct file *file = &files->files.items[row];
	struct ages *ages = ages_of(files, file->owner);

	file->older = ages->newest;
	file->newer = NO_ROW;
	if (ages->newest == NO_ROW)
		ages->oldest = row;
	else
		files->files.items[ages->newest].newer = row;
	ages->newest = row;
}

static void unlink_row(struct file_set *files, uint32_t row)
{
	const struct file *file = &files->files.items[row];
	struct ages *ages = ages_of(files, file->owner);

	if (file->older == NO_ROW)
		ages->oldest = file->newer;
	else
		files->files.items[file->older].newer = file->newer;
	if (file->newer == NO_ROW)
		ages->newest = file->older;
	else
		files->files.items[file->newer].older = file->older;
}

static uint32_t add_owner(struct file_set *files, uint32_t pid)
{
	uint32_t owner = owner_counts_add(&files->owners, pid);

	if (files->ages.count <= owner)
		vec_add_zeroed(&files->ages, owner + 1 - files->ages.count);
	if (files->owners.rows.items[owner].count == 1)
		files->ages.items[owner] = (struct ages){NO_ROW, NO_ROW};
	return owner;
}

/* Closes the file. */
static void remove_row(struct file_set *files, uint32_t row)
{
	struct file *file = &files->files.items[row];

	unlink_row(files, row);
	if (file->owner != NO_OWNER)
		owner_counts_remove(&files->owners, file->owner);
	index_remove(&files->by_id, hash_u64(file->id), row);
	close(file->fd);
	file->newer = files->free_row;
	files->free_row = row;
}

/*
 * Chooses the oldest file of the process with the most files, or else the least recently used
 * shared file.
 */
static uint32_t choose_victim(const struct file_set *files)
{
	uint32_t owner = owner_counts_largest(&files->owners);

	return owner == NO_OWNER ? files->shared.oldest : files->ages.items[owner].oldest;
}

static void drop_one(struct file_set *files)
{
	uint32_t row = choose_victim(files);
	struct closed_file closed = {.id = files->files.items[row].id};

	if (files->closed.count < MAX_CLOSED &&
	    reopen_remember(&closed.how, files->files.items[row].fd))
		vec_push(&files->closed, closed);
	remove_row(files, row);
	files->dropped++;
}

void file_set_free(struct file_set *files)
{
	if (!files)
		return;
	while (files->by_id.count)
		remove_row(files, choose_victim(files));
	vec_for_each(&files->closed, struct closed_file *, it)
		reopen_release(&it->how);
	vec_release(&files->closed);
	owner_counts_release(&files->owners);
	vec_release(&files->ages);
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

static void add(struct file_set *files, uint32_t id, uint32_t owner, int fd)
{
	uint32_t row = take_row(files);

	files->files.items[row] = (struct file){.id = id, .fd = fd, .owner = owner};
	link_row(files, row);
	index_add(&files->by_id, hash_u64(id), row);
}

/* Makes room. Returns false if that is impossible, and closes fd. */
static bool prepare(struct file_set *files, uint32_t id, int fd)
{
	uint32_t row = find_row(files, id);

	if (row != INDEX_NONE)
		remove_row(files, row);
	if (fd < 0)
		return false;
	if (!files->limit) {
		close(fd);
		files->dropped++;
		return false;
	}
	if (files->by_id.count >= files->limit)
		drop_one(files);
	return true;
}

void file_set_add(struct file_set *files, uint32_t id, int fd)
{
	if (prepare(files, id, fd))
		add(files, id, NO_OWNER, fd);
}

void file_set_add_for(struct file_set *files, uint32_t id, uint32_t pid, int fd)
{
	if (prepare(files, id, fd))
		add(files, id, add_owner(files, pid), fd);
}

void file_set_use(struct file_set *files, uint32_t id, uint32_t pid)
{
	uint32_t row = find_row(files, id);
	struct file *file;

	if (row == INDEX_NONE)
		return;
	file = &files->files.items[row];
	if (file->owner != NO_OWNER && files->owners.rows.items[file->owner].pid == pid)
		return;
	unlink_row(files, row);
	if (file->owner != NO_OWNER)
		owner_counts_remove(&files->owners, file->owner);
	file->owner = NO_OWNER;
	link_row(files, row);
}

void file_set_remove(struct file_set *files, uint32_t id)
{
	uint32_t row = find_row(files, id);

	if (row != INDEX_NONE)
		remove_row(files, row);
}

ORDER(compare_ids, uint32_t, COMPARE(*a, *b))

static bool is_among(const uint32_t *ids, size_t count, uint32_t id)
{
	return count && bsearch(&id, ids, count, sizeof(*ids), compare_ids);
}

static void keep_only(struct file_set *files, struct ages *ages, const uint32_t *ids, size_t count)
{
	for (uint32_t row = ages->oldest, next; row != NO_ROW; row = next) {
		next = files->files.items[row].newer;
		if (!is_among(ids, count, files->files.items[row].id))
			remove_row(files, row);
	}
}

void file_set_need(struct file_set *files, const uint32_t *ids, size_t count)
{
	if (!files->closed.count)
		return;
	keep_only(files, &files->shared, ids, count);
	for (size_t owner = 0; owner < files->owners.rows.count; owner++) {
		if (files->owners.rows.items[owner].count)
			keep_only(files, &files->ages.items[owner], ids, count);
	}
	vec_for_each(&files->closed, struct closed_file *, it) {
		int root = file_set_find_root(files, it->id), fd;

		if (files->by_id.count >= files->limit || !is_among(ids, count, it->id) ||
		    find_row(files, it->id) != INDEX_NONE)
			continue;
		fd = reopen(&it->how, root);
		if (fd >= 0)
			add(files, it->id, NO_OWNER, fd);
	}
}

int file_set_find(const struct file_set *files, uint32_t id)
{
	uint32_t row = find_row(files, id);

	return row == INDEX_NONE ? -1 : files->files.items[row].fd;
}

/* Returns 1 + the row of that folder, added if new; 0: no room. */
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

INDEX_HAS(has_pid, struct file_set, processes, pid)

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

uint32_t file_set_limit_wanted(uint32_t missing)
{
	struct rlimit limit = {0};
	uint64_t wanted = 4096;

	getrlimit(RLIMIT_NOFILE, &limit);
	while (wanted < FILE_LIMIT_MAX && wanted < limit.rlim_max + missing + 1)
		wanted *= 2;
	return (uint32_t)wanted;
}

uint32_t file_set_dropped(const struct file_set *files)
{
	return files->dropped;
}
