/* SPDX-License-Identifier: MIT */
#include "lib/fleet/packed_body.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/outfile.h"

#define SMALL 1024

static int read_back(int fd, uint64_t size, struct strbuf *packed, struct error *err)
{
	char part[16384];

	for (uint64_t at = 0; at < size;) {
		ssize_t got = pread(fd, part, sizeof(part), (off_t)at);

		if (got <= 0)
			return error_set(err, got ? -errno : -EIO, "pack a request");
		strbuf_add(packed, part, (size_t)got);
		at += (uint64_t)got;
	}
	return 0;
}

int packed_body(const void *body, size_t size, struct strbuf *packed, struct error *err)
{
	_cleanup_close_ int fd = -1;
	struct outfile_options options = {.path = "a request", .fd = -1, .gzip = true};
	struct outfile *out;
	int ret;

	if (size < SMALL)
		return 0;
	fd = memfd_create("request", MFD_CLOEXEC);
	options.fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (options.fd < 0)
		return error_set(err, -errno, "pack a request");
	ret = outfile_open(&out, &options, err);
	if (ret)
		return ret;
	outfile_write(out, body, size);
	ret = outfile_commit(out, err);
	if (!ret)
		ret = read_back(fd, outfile_size(out), packed, err);
	outfile_free(out);
	return ret;
}
