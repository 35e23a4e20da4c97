/* SPDX-License-Identifier: MIT */
#include "lib/live/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

static int open_in_map_files(const struct mapped_file *file)
{
	char name[96];

	snprintf(name, sizeof(name), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, file->pid,
		 file->start, file->end);
	return open(name, O_PATH | O_CLOEXEC);
}

/* Links are followed as the process would, never beyond its root. */
static int open_in_process_root(const struct mapped_file *file)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int root = -1;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%u/root", file->pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	return (int)syscall(SYS_openat2, root, file->path, &how, sizeof(how));
}

static int open_in_own_root(const struct mapped_file *file)
{
	return open(file->path, O_PATH | O_CLOEXEC);
}

/* map_files names the mapping, but another file may be mapped there by now. */
static bool same_link(const struct mapped_file *file, int path_fd)
{
	char name[32], target[PATH_MAX];
	ssize_t size;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	size = readlink(name, target, sizeof(target) - 1);
	if (size < 0)
		return false;
	target[size] = 0;
	return strcmp(target, file->path) == 0;
}

static bool is_the_file(const struct mapped_file *file, int path_fd, const struct stat *st,
			const struct binary_summary *summary)
{
	if (file->build_id_size)
		return summary->build_id_size == file->build_id_size &&
		       memcmp(summary->build_id, file->build_id, file->build_id_size) == 0;
	/*
	 * The inode is that of the layer below where the file lies on an overlay. There the name
	 * has to do, and it only does where the kernel itself leads to the mapped file.
	 */
	return (file->inode && st->st_ino == file->inode) || same_link(file, path_fd);
}

/* Takes path_fd over. */
static int open_candidate(const struct mapped_file *file, int path_fd,
			  struct file_identity *identity, struct binary_summary *summary)
{
	_cleanup_close_ int by_path = path_fd;
	_cleanup_close_ int fd = -1;
	struct stat st;
	char name[32];

	if (by_path < 0)
		return -errno;
	if (fstat(by_path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", by_path);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	memset(summary, 0, sizeof(*summary));
	if (binary_summarize(fd, summary, NULL))
		memset(summary, 0, sizeof(*summary));
	if (!is_the_file(file, by_path, &st, summary)) {
		binary_summary_release(summary);
		return -ESTALE;
	}
	identity->device = st.st_dev;
	identity->inode = st.st_ino;
	identity->size = st.st_size;
	identity->modified_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	return steal_fd(&fd);
}

int mapped_file_open(const struct mapped_file *file, struct file_identity *identity,
		     struct binary_summary *summary)
{
	static int (*const ways[])(const struct mapped_file *) = {
		open_in_map_files,
		open_in_process_root,
		open_in_own_root,
	};
	int fd = -ENOENT;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && fd < 0; i++)
		fd = open_candidate(file, ways[i](file), identity, summary);
	return fd;
}
