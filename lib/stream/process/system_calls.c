/* SPDX-License-Identifier: MIT */
#include "lib/stream/process/system_calls.h"

static const struct system_call calls[] = {
#define CALL(name, x86_64, i386, arm64, waits_for) \
	{#name, {x86_64, i386, arm64}, CALL_WAIT_##waits_for},
#include "lib/stream/process/system_calls.def"
#undef CALL
};

const struct system_call *system_call_find(enum system_call_table table, int32_t number)
{
	return number >= 0 ? array_find(calls, it, it->numbers[table] == number) : NULL;
}

int32_t system_call_number(enum system_call_table table, const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].numbers[table];
	}
	return -1;
}

bool system_call_takes_file(const char *name)
{
	static const char *const names[] = {
		"read",
		"write",
		"pread64",
		"pwrite64",
		"readv",
		"writev",
		"preadv",
		"pwritev",
		"preadv2",
		"pwritev2",
		"recvfrom",
		"sendto",
		"recvmsg",
		"sendmsg",
		"recvmmsg",
		"sendmmsg",
		"accept",
		"accept4",
		"connect",
		"fsync",
		"fdatasync",
		"ioctl",
		"flock",
		"fcntl",
		"sendfile",
		"splice",
		"fallocate",
		"ftruncate",
		"getdents64",
		"close",
		"shutdown",
		"tee",
		"vmsplice",
		"fstat",
		"lseek",
		"syncfs",
		"epoll_wait",
		"epoll_pwait",
		"epoll_pwait2",
		"epoll_ctl",
		"fchmod",
		"fchown",
		"bind",
		"listen",
		"fadvise64",
		"fchdir",
		"readahead",
		"dup",
		"getdents",
		"fstatfs",
		"io_uring_enter",
		"sync_file_range",
		"recvmmsg_time64",
	};

	return array_find(names, it, strcmp(*it, name) == 0);
}
