/* SPDX-License-Identifier: MIT */
#include "lib/base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

int open_regular_place(int place)
{
	char self[64];
	struct stat st;
	int fd;

	if (fstat(place, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
	/* O_NONBLOCK: a lease held by the file's owner would block the open for a minute. */
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int open_regular(const char *path)
{
	_cleanup_close_ int place = open(path, O_PATH | O_CLOEXEC);

	return place < 0 ? -errno : open_regular_place(place);
}

int open_regular_named(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS | (root > 0 ? RESOLVE_IN_ROOT : 0),
	};
	_cleanup_close_ int place = (int)syscall(SYS_openat2, root > 0 ? root : AT_FDCWD, path,
						 &how, sizeof(how));

	return place < 0 ? -errno : open_regular_place(place);
}
