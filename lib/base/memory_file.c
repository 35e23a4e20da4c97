/* SPDX-License-Identifier: MIT */
#include "lib/base/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/read_at.h"

struct bytes_written {
	const void *data;
	size_t size;
};

static int write_bytes(void *ctx, struct outfile *out, struct error *err)
{
	const struct bytes_written *b = ctx;

	(void)err;
	outfile_write(out, b->data, b->size);
	return 0;
}

int memory_file_write(const char *what, bool gzip, memory_file_writer *write, void *ctx,
		      uint64_t *size, struct error *err)
{
	_cleanup_close_ int fd = memfd_create(what, MFD_CLOEXEC);
	/* outfile closes its own. */
	const struct outfile_options options = {
		.fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
		.path = what,
		.gzip = gzip,
	};
	struct outfile *out = NULL;
	int ret;

	if (options.fd < 0)
		return error_set(err, -errno, "keep %s in memory", what);
	ret = outfile_open(&out, &options, err);
	if (!ret)
		ret = write(ctx, out, err);
	if (!ret)
		ret = outfile_commit(out, err);
	*size = ret ? 0 : outfile_size(out);
	outfile_free(out);
	return ret ? ret : steal_fd(&fd);
}

int memory_file_pack(const char *what, const void *data, size_t data_size, uint64_t *size,
		     struct error *err)
{
	struct bytes_written bytes = {data, data_size};

	return memory_file_write(what, true, write_bytes, &bytes, size, err);
}

int memory_file_read(int fd, const char *what, size_t size, char **text, struct error *err)
{
	_cleanup_free_ char *bytes = xmalloc(size + 1);
	ssize_t got = read_at(fd, bytes, size, 0);

	*text = NULL;
	if (got != (ssize_t)size)
		return error_set(err, got < 0 ? (int)got : -EIO, "read %s in memory", what);
	bytes[size] = '\0';
	*text = steal(bytes);
	return 0;
}
