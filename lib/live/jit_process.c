/* SPDX-License-Identifier: MIT */
#include "lib/live/jit_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#define STATUS_MAX 65536

/* The last (is_last) or the second number of a line of /proc/PID/status. */
static bool find_number(const char *status, const char *key, bool is_last, uint64_t *number)
{
	const char *at = strstr(status, key), *end;
	unsigned int count = 0;
	bool is_found = false;

	if (!at)
		return false;
	at += strlen(key);
	end = strchrnul(at, '\n');
	while (at < end && (is_last || count < 2)) {
		if (*at == ' ' || *at == '\t') {
			at++;
			continue;
		}
		if (!text_scan_decimal(&at, end, number))
			return false;
		is_found = true;
		count++;
	}
	return is_found;
}

int jit_process_read(struct jit_process *p, uint32_t pid)
{
	_cleanup_free_ char *status = NULL;
	uint64_t own_pid, uid;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	status = text_read_file(path, STATUS_MAX, NULL);
	/* A process in another namespace has a number for each; the last is what it calls itself.
	 */
	if (!status || !find_number(status, "\nNSpid:", true, &own_pid) ||
	    !find_number(status, "\nUid:", false, &uid))
		return -ESRCH;
	*p = (struct jit_process){.pid = pid, .own_pid = (uint32_t)own_pid, .uid = (uid_t)uid};
	return 0;
}

int jit_process_open_root(const struct jit_process *p)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/root", p->pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int jit_process_open_file(const struct jit_process *p, int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	struct stat st;
	char name[32];
	int fd;

	if (place < 0 || fstat(place, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	/* Anybody may put files into /tmp. */
	if (st.st_uid != p->uid && st.st_uid != 0)
		return -EPERM;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}
