/* SPDX-License-Identifier: MIT */
#include "lib/format/written_text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

static int take_text(int fd, size_t size, char **text, struct error *err)
{
	size_t done = 0;

	*text = xmalloc(size + 1);
	while (done < size) {
		ssize_t got = pread(fd, *text + done, size - done, (off_t)done);

		if (got <= 0) {
			free(*text);
			*text = NULL;
			return error_set(err, -EIO, "read the profile in memory");
		}
		done += (size_t)got;
	}
	(*text)[size] = '\0';
	return 0;
}

int written_text(const struct format *format, const struct profile *p,
		 const struct export_options *options, struct export_counts *counts, char **text,
		 size_t *size, struct error *err)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);
	_cleanup_close_ int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	const struct outfile_options file = {.fd = fd, .path = "memory"};
	struct outfile *out = NULL;
	int ret;

	*text = NULL;
	if (copy < 0)
		return error_set(err, -errno, "keep the profile in memory");
	ret = outfile_open(&out, &file, err);
	if (!ret)
		ret = format->write(p, options, out, counts, err);
	if (!ret)
		ret = outfile_commit(out, err);
	if (!ret) {
		*size = outfile_size(out);
		ret = take_text(copy, *size, text, err);
	}
	outfile_free(out);
	return ret;
}
