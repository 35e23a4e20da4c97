/* SPDX-License-Identifier: MIT */
#include "lib/base/readers.h"

#include <limits.h>
#include <sys/fsuid.h>

#include "lib/base/identity.h"
#include "lib/base/open_file.h"

/* The kernel shows this id for ids without a mapping; it should own nothing. */
#define OVERFLOW_ID 65534

void readers_release(struct readers *readers)
{
	vec_release(&readers->rows);
}

void readers_add(struct readers *readers, struct reader reader)
{
	if (vec_find(&readers->rows, it, it->uid == reader.uid && it->gid == reader.gid))
		return;
	vec_push(&readers->rows, reader);
}

static bool has_mode(const char *path, mode_t mode)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & mode) == mode;
}

/* Checks the file, and every folder on its link-free path from the root on. */
static bool is_open_to_all(int fd)
{
	char name[32], path[PATH_MAX];
	ssize_t size;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	size = readlink(name, path, sizeof(path));
	if (size <= 0 || size == sizeof(path) || *path != '/' || !has_mode(name, S_IROTH) ||
	    !has_mode("/", S_IXOTH))
		return false;
	for (ssize_t i = 1; i < size; i++) {
		if (path[i] != '/')
			continue;
		path[i] = 0;
		if (!has_mode(path, S_IXOTH))
			return false;
		path[i] = '/';
	}
	return true;
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static bool can_read(struct reader reader, int root, const char *path, int fd)
{
	bool is_known = reader.uid != READER_UNKNOWN && reader.gid != READER_UNKNOWN;
	struct identity before = identity_assume_ids(is_known ? reader.uid : OVERFLOW_ID,
						     is_known ? reader.gid : OVERFLOW_ID);
	_cleanup_close_ int again = -1;

	if (before.failure)
		return root <= 0 && is_open_to_all(fd);
	again = open_regular_named(root, path);
	identity_restore_files(&before);
	return again >= 0 && is_same(fd, again);
}

int readers_open(const struct readers *readers, int root, const char *path)
{
	_cleanup_close_ int fd = open_regular_named(root, path);
	uid_t self = (uid_t)setfsuid((uid_t)-1);

	if (fd < 0 || !readers)
		return steal_fd(&fd);
	vec_for_each(&readers->rows, const struct reader *, it) {
		/* Root can read everything, and our own open has succeeded already. */
		if (it->uid && it->uid != self && !can_read(*it, root, path, fd))
			return READERS_REFUSED;
	}
	return steal_fd(&fd);
}
