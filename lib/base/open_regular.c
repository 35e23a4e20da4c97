/* SPDX-License-Identifier: MIT */
#include "lib/base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/base/cleanup.h"

int open_regular(const char *path)
{
	_cleanup_close_ int place = open(path, O_PATH | O_CLOEXEC);
	char self[64];
	struct stat st;
	int fd;

	if (place < 0 || fstat(place, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}
