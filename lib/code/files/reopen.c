/* SPDX-License-Identifier: MIT */
#include "lib/code/files/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

static int64_t modified_ns(const struct stat *st)
{
	return st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec;
}

bool reopen_remember(struct reopen *r, int fd)
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

int reopen(const struct reopen *r, int root)
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

void reopen_release(struct reopen *r)
{
	free(r->path);
	*r = (struct reopen){0};
}
