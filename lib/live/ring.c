/* SPDX-License-Identifier: MIT */
#include "lib/live/ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* The length of a record, two flags in it, and where it lies, before its data. */
#define HEADER_SIZE BPF_RINGBUF_HDR_SZ

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* The page with the producer's position and the data, which is mapped twice. */
static size_t readable_size(const struct ring *ring)
{
	return page_size() + 2 * ring->size;
}

static int map_pages(struct ring *ring)
{
	void *consumer, *producer;

	consumer = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (consumer == MAP_FAILED)
		return -errno;
	ring->consumed = consumer;
	producer = mmap(NULL, readable_size(ring), PROT_READ, MAP_SHARED, ring->fd,
			(off_t)page_size());
	if (producer == MAP_FAILED)
		return -errno;
	ring->produced = producer;
	ring->data = (const uint8_t *)producer + page_size();
	return 0;
}

int ring_make(uint64_t size)
{
	return bpf_map_create(BPF_MAP_TYPE_RINGBUF, "prof_ring", 0, 0, (uint32_t)size, NULL);
}

int ring_open(struct ring *ring, int fd, uint64_t size)
{
	int code;

	*ring = (struct ring){.fd = fd, .size = size};
	code = map_pages(ring);
	if (code)
		ring_close(ring);
	return code;
}

void ring_close(struct ring *ring)
{
	if (ring->consumed)
		munmap(ring->consumed, page_size());
	if (ring->produced)
		munmap((void *)ring->produced, readable_size(ring));
	if (ring->fd >= 0)
		close(ring->fd);
	*ring = (struct ring){.fd = -1};
}

void ring_drain(struct ring *ring, ring_record_fn *fn, void *ctx)
{
	unsigned long end = __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE);
	unsigned long at = *ring->consumed;

	while (at < end) {
		const uint8_t *record = ring->data + (at & (ring->size - 1));
		uint32_t word = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
		uint32_t size = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		/* It is being written, and what follows waits with it. */
		if (word & BPF_RINGBUF_BUSY_BIT)
			break;
		at += (HEADER_SIZE + size + 7) & ~7ul;
		if (!(word & BPF_RINGBUF_DISCARD_BIT))
			fn(ctx, record + HEADER_SIZE, size);
		/* Room for others at once. */
		__atomic_store_n(ring->consumed, at, __ATOMIC_RELEASE);
	}
}
