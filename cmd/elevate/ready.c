/* SPDX-License-Identifier: MIT */
#include "cmd/elevate/ready.h"

static const char line[] = "ready\n";

int ready_check(const struct live_options *options, struct error *err)
{
	int flags;

	if (options->ready_fd < 0)
		return 0;
	flags = fcntl(options->ready_fd, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return error_text(err, -EBADF, "--ready-fd %d: not open for writing",
				  options->ready_fd);
	return 0;
}

int ready_open(struct ready *r, const struct live_options *options, struct identity owner,
	       struct error *err)
{
	*r = (struct ready){.fd = -1};
	if (ready_check(options, err))
		return -EBADF;
	if (options->ready_fd >= 0) {
		fcntl(options->ready_fd, F_SETFD, FD_CLOEXEC);
		r->fd = options->ready_fd;
	}
	return options->ready_path ? outfile_open_plain(&r->file, options->ready_path, &owner, err)
				   : 0;
}

int ready_say(struct ready *r, struct error *err)
{
	if (r->fd >= 0) {
		(void)!write(r->fd, line, strlen(line));
		/* Keep the three standard descriptors open. */
		if (r->fd > STDERR_FILENO)
			close(r->fd);
		r->fd = -1;
	}
	if (!r->file)
		return 0;
	outfile_write(r->file, line, strlen(line));
	return outfile_commit(r->file, err);
}

void ready_release(struct ready *r)
{
	if (r->fd > STDERR_FILENO)
		close(r->fd);
	r->fd = -1;
	outfile_free(r->file);
	r->file = NULL;
}
