/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/task_iterator.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

#define ROOM_WORDS 512

/* Returns a descriptor to read, or a negative errno. */
static int open_iterator(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_link_create_opts, options);
	_cleanup_close_ int link = bpf_link_create(bpf_program__fd(program), 0, BPF_TRACE_ITER,
						   &options);
	int fd;

	if (link < 0)
		return -errno;
	fd = bpf_iter_create(link);
	return fd < 0 ? -errno : fd;
}

int task_iterator_read(const struct bpf_program *program, size_t row_size, task_row_fn *fn,
		       void *ctx)
{
	_cleanup_close_ int fd = open_iterator(program);
	uint64_t words[ROOM_WORDS];
	char *room = (char *)words;
	size_t filled = 0, whole;

	if (fd < 0)
		return fd;
	for (;;) {
		ssize_t size = read(fd, room + filled, sizeof(words) - filled);

		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (size <= 0)
			return size ? -errno : 0;
		filled += (size_t)size;
		whole = filled / row_size;
		for (size_t i = 0; i < whole; i++)
			fn(ctx, room + i * row_size);
		filled -= whole * row_size;
		memmove(room, room + whole * row_size, filled);
	}
}
