/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/machine/internal.h"

int __real_close(int fd);
int __real_eventfd(unsigned int count, int flags);
int __real_memfd_create(const char *name, unsigned int flags);
void *__real_mmap(void *addr, size_t size, int protection, int flags, int fd, off_t offset);
ssize_t __real_read(int fd, void *data, size_t size);

int __wrap_close(int fd);
int __wrap_eventfd(unsigned int count, int flags);
int __wrap_memfd_create(const char *name, unsigned int flags);
void *__wrap_mmap(void *addr, size_t size, int protection, int flags, int fd, off_t offset);

static struct descriptor *descriptors[DESCRIPTORS_MAX]; /* by fd */
/* Maps of maps are filled by several threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void machine_lock(void)
{
	pthread_mutex_lock(&lock);
}

void machine_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int open_backing(enum descriptor_kind kind, size_t memory)
{
	int fd;

	if (kind != DESCRIPTOR_MAP)
		return __real_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fd = __real_memfd_create("map", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, (off_t)memory))
		abort();
	return fd;
}

struct descriptor *descriptor_new(enum descriptor_kind kind, size_t memory)
{
	int fd = open_backing(kind, memory);
	struct descriptor *d;

	if (fd < 0)
		return NULL;
	if (fd >= DESCRIPTORS_MAX)
		abort();
	d = calloc(1, sizeof(*d));
	d->kind = kind;
	d->fd = fd;
	d->output_fd = -1;
	d->cpu = UINT32_MAX;
	machine_lock();
	descriptors[fd] = d;
	machine_unlock();
	return d;
}

struct descriptor *descriptor_find(int fd)
{
	struct descriptor *d;

	if (fd < 0 || fd >= DESCRIPTORS_MAX)
		return NULL;
	machine_lock();
	d = descriptors[fd];
	machine_unlock();
	return d;
}

struct descriptor *descriptor_search(bool (*is_it)(const struct descriptor *d, uint32_t cpu),
				     uint32_t cpu)
{
	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
		if (descriptors[fd] && is_it(descriptors[fd], cpu))
			return descriptors[fd];
	}
	return NULL;
}

unsigned int descriptors_report(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
		if (!descriptors[fd])
			continue;
		count++;
		fprintf(stderr, "left open: kind %d, %s, CPU %d\n", descriptors[fd]->kind,
			descriptors[fd]->name, (int)descriptors[fd]->cpu);
	}
	return count;
}

void descriptors_wake(struct descriptor *d)
{
	const uint64_t one = 1;

	if (write(d->fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

void descriptors_reset_events(void)
{
	uint64_t count;

	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
		if (descriptors[fd] && descriptors[fd]->kind == DESCRIPTOR_EVENT &&
		    __real_read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
			abort();
	}
}

static void unmap_views(struct descriptor *d)
{
	if (d->consumed)
		munmap(d->consumed, page_size());
	if (d->produced)
		munmap(d->produced, page_size() + 2 * d->size);
	if (d->control)
		munmap(d->control, d->size);
}

int __wrap_close(int fd)
{
	struct descriptor *d = descriptor_find(fd);

	if (d) {
		machine_lock();
		descriptors[fd] = NULL;
		machine_unlock();
		unmap_views(d);
		free(d);
	}
	return __real_close(fd);
}

void descriptors_close_all(void)
{
	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
		if (descriptors[fd])
			__wrap_close(fd);
	}
}

int __wrap_eventfd(unsigned int count, int flags)
{
	int code = machine_judge("eventfd");

	errno = -code;
	return code ? -1 : __real_eventfd(count, flags);
}

int __wrap_memfd_create(const char *name, unsigned int flags)
{
	int code = machine_judge("memfd_create");

	errno = -code;
	return code ? -1 : __real_memfd_create(name, flags);
}

/* New shared memory, mapped for the recorder and for the machine. MAP_FAILED with errno set. */
static void *map_twice(size_t size, int protection, void **own)
{
	int fd = __real_memfd_create("ring", MFD_CLOEXEC);
	void *memory;

	if (fd < 0)
		return MAP_FAILED;
	if (ftruncate(fd, (off_t)size))
		abort();
	*own = __real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memory = __real_mmap(NULL, size, protection, MAP_SHARED, fd, 0);
	__real_close(fd);
	if (*own == MAP_FAILED || memory == MAP_FAILED)
		abort();
	return memory;
}

/* A ring has one page of its reader's, then one of its writer's and the data. */
static void *map_ring(struct descriptor *d, size_t size, int protection, off_t offset)
{
	bool is_reader = offset == 0;
	void *own, *memory;

	if (size != (is_reader ? page_size() : page_size() + 2 * d->size)) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	/* The kernel lets nobody write there. */
	if (!is_reader && protection & PROT_WRITE) {
		errno = EPERM;
		return MAP_FAILED;
	}
	memory = map_twice(size, protection, &own);
	if (memory == MAP_FAILED)
		return MAP_FAILED;
	if (is_reader) {
		d->consumed = own;
	} else {
		d->produced = own;
		d->data = (uint8_t *)own + page_size();
	}
	return memory;
}

static void *map_event(struct descriptor *d, size_t size, int protection)
{
	void *own, *memory = map_twice(size, protection, &own);

	if (memory == MAP_FAILED)
		return MAP_FAILED;
	d->control = own;
	d->size = size;
	return memory;
}

void *__wrap_mmap(void *addr, size_t size, int protection, int flags, int fd, off_t offset)
{
	struct descriptor *d = flags & MAP_ANONYMOUS ? NULL : descriptor_find(fd);
	int code = d ? machine_judge("mmap") : 0;

	if (code) {
		errno = -code;
		return MAP_FAILED;
	}
	if (d && d->kind == DESCRIPTOR_RING)
		return map_ring(d, size, protection, offset);
	if (d && d->kind == DESCRIPTOR_EVENT)
		return map_event(d, size, protection);
	return __real_mmap(addr, size, protection, flags, fd, offset);
}
