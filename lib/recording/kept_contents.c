/* SPDX-License-Identifier: MIT */
#include "lib/recording/kept_contents.h"

#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "lib/base/workers.h"
#include "lib/code/binary/essential_parts.h"
#include "lib/stream/record/records.h"

#define POLL_NS 2000000000ull
/* Maximum number of files waiting to be written: each takes memory and a descriptor. */
#define MODULES_AT_ONCE 64
/* Time limit of a search; the rings buffer records meanwhile. */
#define SEARCH_NS 500000000ull

/* False for files with a name in the recorder's own root, which can be found later. */
static bool may_vanish(uint32_t module, const struct file_set *files, const struct statx *st)
{
	return !st->stx_nlink || file_set_find_root(files, module) > 0;
}

/* True for the kernel's internal tmpfs, which cannot be mounted. */
static bool is_on_own_tmpfs(const struct statx *st)
{
	_cleanup_close_ int own = memfd_create("device", MFD_CLOEXEC);
	struct statx own_st;

	return own < 0 || statx(own, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &own_st) != 0 ||
	       (st->stx_dev_major == own_st.stx_dev_major &&
		st->stx_dev_minor == own_st.stx_dev_minor);
}

/* Files made by memfd_create() have mode 0777, but no name by which others could open them. */
static bool is_memory(int fd, const struct statx *st)
{
	struct statfs fs;

	if (st->stx_nlink)
		return false;
	return fstatfs(fd, &fs) != 0 || fs.f_type == HUGETLBFS_MAGIC ||
	       (fs.f_type == TMPFS_MAGIC && is_on_own_tmpfs(st));
}

/* Opens the folder in that root that contained the file when it was mapped. */
static int open_folder(const struct rec_module *rec, int root)
{
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS | (root > 0 ? RESOLVE_IN_ROOT : 0),
	};
	_cleanup_free_ char *path = xstrndup(rec_module_path(rec), rec->path_size);
	char *slash = strrchr(path, '/');

	if (*path != '/')
		return -1;
	slash[slash == path] = '\0';
	return (int)syscall(SYS_openat2, root > 0 ? root : AT_FDCWD, path, &how, sizeof(how));
}

/*
 * True if the owner may search the file's folder and all folders above it. Check before the folder
 * is deleted.
 */
static bool may_reach(const struct rec_module *rec, const struct file_set *files,
		      const struct identity *owner)
{
	_cleanup_close_ int folder = -1;
	struct identity before;

	if (owner->is_self)
		return true;
	before = identity_assume_files(owner);
	if (!before.failure)
		folder = open_folder(rec, file_set_find_root(files, rec->module_id));
	if (folder >= 0 && faccessat(folder, ".", X_OK, AT_EACCESS) != 0)
		close(steal_fd(&folder));
	identity_restore_files(&before);
	return folder >= 0;
}

static bool may_read(int fd, const struct statx *st, bool may_reach, const struct identity *owner)
{
	if (owner->is_self)
		return true;
	if (st->stx_uid == owner->uid)
		return st->stx_mode & S_IRUSR;
	if (is_memory(fd, st) || !may_reach)
		return false;
	return st->stx_mode & S_IROTH || (st->stx_gid == owner->gid && st->stx_mode & S_IRGRP);
}

static void hand_over(struct essential_parts *parts, uint32_t module, int fd,
		      struct capture_writer *writer)
{
	size_t count = parts->rows.count + 1;
	struct capture_part *rows = xcalloc(count, sizeof(*rows));

	for (size_t i = 0; i < parts->rows.count; i++)
		rows[i] = (struct capture_part){
			.offset = parts->rows.items[i].offset,
			.size = parts->rows.items[i].size,
		};
	rows[count - 1] = (struct capture_part){
		.offset = parts->sections_offset,
		.size = parts->sections_size,
		.bytes = steal(parts->sections),
	};
	capture_writer_add_file(writer, module, fd, rows, count);
}

/* A search for the parts of a file to retain; may outlive its caller. */
struct search {
	int fd; /* owned */
	uint64_t limit; /* maximum size in bytes */
	struct essential_parts parts;
	int ret;
};

static void run_search(void *ctx)
{
	struct search *s = ctx;

	s->ret = essential_parts_find(&s->parts, s->fd, s->limit);
}

static void free_search(void *ctx)
{
	struct search *s = ctx;

	fd_close(s->fd);
	essential_parts_release(&s->parts);
	free(s);
}

/* Skips a file whose file system does not respond. */
static void keep(struct kept_contents *k, uint32_t module, int fd, struct capture_writer *writer)
{
	uint64_t left = KEPT_ALL_MAX - k->bytes;
	struct search *s = xcalloc(1, sizeof(*s));

	s->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	s->limit = left < KEPT_FILE_MAX ? left : KEPT_FILE_MAX;
	if (s->fd >= 0 && !bounded_call(run_search, free_search, s, SEARCH_NS))
		return;
	k->left_out += s->ret == -EFBIG;
	if (s->fd >= 0 && !s->ret) {
		k->bytes += s->parts.bytes;
		hand_over(&s->parts, module, steal_fd(&s->fd), writer);
	}
	free_search(s);
}

/*
 * Uses cached attributes: repeated requests to an unresponsive file server would delay the
 * recording.
 */
static bool poll_file(int fd, struct statx *st)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, st) == 0;
}

/* Returns false if the file still has a name. */
static bool keep_if_vanishing(struct kept_contents *k, const struct kept_module *module,
			      const struct file_set *files, const struct identity *owner,
			      struct capture_writer *writer)
{
	int fd = file_set_find(files, module->id);
	struct statx st;

	if (fd < 0 || !poll_file(fd, &st))
		return true;
	if (!may_vanish(module->id, files, &st))
		return false;
	if (may_read(fd, &st, module->may_reach, owner))
		keep(k, module->id, fd, writer);
	return true;
}

void kept_contents_add(struct kept_contents *k, const struct rec_module *rec,
		       const struct file_set *files, const struct identity *owner,
		       struct capture_writer *writer)
{
	int fd = file_set_find(files, rec->module_id);
	struct kept_module module = {.id = rec->module_id};

	if (rec->kind == MODULE_VDSO && fd >= 0) {
		keep(k, rec->module_id, fd, writer);
		module.is_vdso = true;
	}
	/* The file may be opened later through another process; another record reports it then. */
	if (rec->rec.flags & MODULE_UNOPENED ||
	    (rec->kind != MODULE_FILE && !(module.is_vdso && k->is_deferred)))
		return;
	module.may_reach = !module.is_vdso && may_reach(rec, files, owner);
	if (k->is_deferred) {
		vec_push(&k->others, module);
		return;
	}
	if (!keep_if_vanishing(k, &module, files, owner, writer))
		vec_push(&k->others, module);
}

void kept_contents_poll(struct kept_contents *k, bool now, const struct file_set *files,
			const struct identity *owner, struct capture_writer *writer)
{
	uint64_t time = clock_monotonic_ns();
	size_t count = 0;

	if (k->is_deferred || (!now && time - k->polled_ns < POLL_NS))
		return;
	k->polled_ns = time;
	for (size_t i = 0; i < k->others.count; i++) {
		struct kept_module module = k->others.items[i];

		if (!keep_if_vanishing(k, &module, files, owner, writer))
			k->others.items[count++] = module;
	}
	k->others.count = count;
}

void kept_contents_remove(struct kept_contents *k, uint32_t module)
{
	for (size_t i = 0; i < k->others.count; i++) {
		if (k->others.items[i].id != module)
			continue;
		k->others.count--;
		memmove(&k->others.items[i], &k->others.items[i + 1],
			(k->others.count - i) * sizeof(k->others.items[0]));
		return;
	}
}

void kept_contents_repeat(struct kept_contents *k, const struct file_set *files,
			  const struct identity *owner, struct capture_writer *writer)
{
	size_t count = 0;

	k->bytes = 0;
	vec_for_each(&k->others, const struct kept_module *, module) {
		int fd = file_set_find(files, module->id);

		if (++count % MODULES_AT_ONCE == 0)
			capture_writer_drain(writer);
		if (!module->is_vdso)
			keep_if_vanishing(k, module, files, owner, writer);
		else if (fd >= 0)
			keep(k, module->id, fd, writer);
	}
}
