/* SPDX-License-Identifier: MIT */
#include "lib/live/code/script_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "lib/base/open_regular.h"
#include "lib/live/machine/proc_status.h"

/* Index in the "Uid" and "Gid" lines: real, effective, … */
#define EFFECTIVE 1

/* Does a server answer for this file, or another process? */
static bool is_remote(int fd)
{
	static const uint32_t types[] = {FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,
					 CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC, AFS_SUPER_MAGIC,
					 CODA_SUPER_MAGIC, V9FS_MAGIC,	     CEPH_SUPER_MAGIC};
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if ((uint32_t)fs.f_type == types[i])
			return true;
	}
	return false;
}

static int open_in(int root, const char *path)
{
	/* A path that the process has used is cached; others are not worth a wait. */
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED,
	};
	_cleanup_close_ int place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return place < 0 || is_remote(place) ? -EAGAIN : open_regular_place(place);
}

int script_file_open(uint32_t pid, const char *path)
{
	uint32_t uids[PROC_STATUS_NUMBERS_MAX], gids[PROC_STATUS_NUMBERS_MAX];
	_cleanup_free_ char *status = proc_status_read(pid);
	_cleanup_close_ int root = -1;
	struct identity before;
	char name[32];
	int fd;

	if (!status || proc_status_numbers(status, "Uid", uids) <= EFFECTIVE ||
	    proc_status_numbers(status, "Gid", gids) <= EFFECTIVE)
		return -ESRCH;
	snprintf(name, sizeof(name), "/proc/%u/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	before = identity_assume_ids(uids[EFFECTIVE], gids[EFFECTIVE]);
	/* Without the right to switch, only the same user's processes are recorded. */
	if (before.failure && uids[EFFECTIVE] != geteuid())
		return before.failure;
	fd = open_in(root, path);
	if (!before.failure)
		identity_restore_files(&before);
	return fd;
}
