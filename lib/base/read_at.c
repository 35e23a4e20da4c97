/* SPDX-License-Identifier: MIT */
#include "lib/base/read_at.h"

#include <errno.h>
#include <unistd.h>

ssize_t read_at(int fd, void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	/* No file has bytes there. */
	if (offset > INT64_MAX - size)
		return 0;
	while (done < size) {
		ssize_t n = pread(fd, (char *)data + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pwrite(fd, (const char *)data + done, size - done,
				   (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}
