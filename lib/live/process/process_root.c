/* SPDX-License-Identifier: MIT */
#include "lib/live/process/process_root.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

/* -1: it is ours, or the process is gone already. */
static int open_root(uint32_t pid)
{
	_cleanup_close_ int fd = -1;
	struct statx own, other;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%u/root", pid);
	fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &other) != 0 ||
	    statx(AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &own) != 0)
		return -1;
	if (own.stx_mnt_id == other.stx_mnt_id && own.stx_ino == other.stx_ino)
		return -1;
	return steal_fd(&fd);
}

static void keep_mounts(struct file_set *files, uint32_t pid)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/ns/mnt", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		file_set_hold(files, fd);
}

void process_root_keep_for_module(struct file_set *files, uint32_t id, uint32_t pid,
				  bool has_mounts)
{
	int fd = open_root(pid);

	if (fd >= 0 && file_set_add_root(files, id, fd) && has_mounts)
		keep_mounts(files, pid);
}

void process_root_keep(struct file_set *files, uint32_t pid, bool has_mounts)
{
	int fd = open_root(pid);

	if (fd >= 0 && file_set_add_process_root(files, pid, fd) && has_mounts)
		keep_mounts(files, pid);
}
