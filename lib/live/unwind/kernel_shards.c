/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/kernel_shards.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/unwind.h"
#include "lib/live/bpf/shard.h"

void kernel_shards_init(struct kernel_shards *k, int maps_fd, int first_fd)
{
	*k = (struct kernel_shards){.maps_fd = maps_fd};
	if (first_fd >= 0)
		vec_push(&k->fds, first_fd);
}

void kernel_shards_release(struct kernel_shards *k)
{
	vec_for_each(&k->fds, const int *, fd)
		close(*fd);
	vec_release(&k->fds);
}

/* Adds a new map to the walker's array. Returns its descriptor, negative with errno set. */
static int add_map(struct kernel_shards *k, uint32_t id)
{
	int fd = shard_make(UNWIND_SHARD_BYTES);

	if (fd < 0) {
		errno = -fd;
		return -1;
	}
	if (bpf_map_update_elem(k->maps_fd, &id, &fd, BPF_ANY)) {
		close(fd);
		return -1;
	}
	vec_push(&k->fds, fd);
	return fd;
}

static uint32_t *make(void *ctx, uint32_t id)
{
	struct kernel_shards *k = ctx;
	int fd = id < k->fds.count ? k->fds.items[id] : add_map(k, id);
	void *memory = MAP_FAILED;

	if (fd >= 0)
		memory = mmap(NULL, UNWIND_SHARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void drop(void *ctx, uint32_t id, uint32_t *words)
{
	(void)ctx;
	(void)id;
	munmap(words, UNWIND_SHARD_BYTES);
}

struct shard_source kernel_shards_source(struct kernel_shards *k)
{
	return (struct shard_source){make, drop, k};
}
