/* SPDX-License-Identifier: MIT */
/* syscalls: 400 ms, nearly all in the kernel, by read() in read_zeros(). */
#include <fcntl.h>

#include "tests/workloads/burn.h"

static char buffer[1 << 20];

static NOINLINE int read_zeros(int fd)
{
	uint64_t end = thread_cpu_ns() + 400000000;

	while (thread_cpu_ns() < end) {
		if (raw_syscall(SYS_read, fd, (long)buffer, sizeof(buffer)) != sizeof(buffer))
			return 1;
	}
	return 0;
}

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);

	return fd < 0 ? 1 : read_zeros(fd);
}
