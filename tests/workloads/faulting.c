/* SPDX-License-Identifier: MIT */
/*
 * A thread "toucher" that waits in touch_missing() for a page that nobody brings, and whose own
 * stack ends with such a page: whoever reads on there gets nothing. Prints a line once it waits.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096
#define SIZE (32 * PAGE)

static char *memory;

__attribute__((noinline)) static void touch_missing(void)
{
	*(volatile char *)memory;
}

static void *toucher(void *unused)
{
	pthread_setname_np(pthread_self(), "toucher");
	touch_missing();
	return unused;
}

/* Returns a descriptor that becomes readable when somebody waits for a page. */
static int watch_faults(void)
{
	struct uffdio_register watched = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || memory == MAP_FAILED)
		return -1;
	/* All but the first and the last page are there. */
	memset(memory + PAGE, 0, SIZE - 2 * PAGE);
	watched.range.start = (unsigned long)memory;
	watched.range.len = SIZE;
	return ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &watched) ? -1 : fd;
}

int main(void)
{
	struct pollfd fault = {.fd = watch_faults(), .events = POLLIN};
	pthread_attr_t attributes;
	pthread_t thread;

	if (fault.fd < 0 || pthread_attr_init(&attributes) ||
	    pthread_attr_setstack(&attributes, memory + PAGE, SIZE - 2 * PAGE) ||
	    pthread_create(&thread, &attributes, toucher, NULL) || poll(&fault, 1, -1) != 1) {
		perror("faulting");
		return 1;
	}
	puts("waits");
	fflush(stdout);
	pause();
	return 0;
}
