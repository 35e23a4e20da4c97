/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/ring.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include "lib/stream/record/records.h"

#define LIVE_RECORD(kind, type, size, needed) \
	static bool is_valid_##kind(const struct rec *rec) \
	{ \
		const struct type *r = (const struct type *)rec; \
\
		return record_size(rec) >= (size) && record_size(rec) >= (needed); \
	}
LIVE_RECORDS(LIVE_RECORD)
#undef LIVE_RECORD

typedef bool is_valid_fn(const struct rec *rec);

static is_valid_fn *const validators[LIVE_REC_END - REC_LIVE] = {
#define LIVE_RECORD(kind, ...) [REC_##kind - REC_LIVE] = is_valid_##kind,
	LIVE_RECORDS(LIVE_RECORD)
#undef LIVE_RECORD
};

bool ring_record_is_valid(const struct rec *rec, size_t available)
{
	if (available < sizeof(*rec) || record_size(rec) > available)
		return false;
	if (rec->kind >= REC_LIVE && rec->kind < LIVE_REC_END)
		return validators[rec->kind - REC_LIVE](rec);
	return record_is_valid(rec, available);
}

/* The header of a record: its length with two flags, and its page offset. */
#define HEADER_SIZE BPF_RINGBUF_HDR_SZ

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns the size of the read-only area: the producer's page and the data, mapped twice. */
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
	fd_close(ring->fd);
	*ring = (struct ring){.fd = -1};
}

struct ring_record {
	const uint8_t *data;
	uint32_t size;
	bool is_busy; /* still being written */
	bool is_discarded;
	unsigned long next; /* position of the next record */
};

static struct ring_record record_at(const struct ring *ring, unsigned long at)
{
	const uint8_t *header = ring->data + (at & (ring->size - 1));
	uint32_t word = __atomic_load_n((const uint32_t *)header, __ATOMIC_ACQUIRE);
	uint32_t size = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

	return (struct ring_record){
		.data = header + HEADER_SIZE,
		.size = size,
		.is_busy = word & BPF_RINGBUF_BUSY_BIT,
		.is_discarded = word & BPF_RINGBUF_DISCARD_BIT,
		.next = at + ((HEADER_SIZE + size + 7) & ~7ul),
	};
}

static unsigned int drain(struct ring *ring, bool skips_busy, ring_record_fn *fn, void *ctx)
{
	unsigned long end = __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE);
	unsigned int busy = 0;

	for (unsigned long at = *ring->consumed; at < end;) {
		struct ring_record record = record_at(ring, at);

		busy += record.is_busy;
		if (record.is_busy && !skips_busy)
			break;
		if (!record.is_busy && !record.is_discarded)
			fn(ctx, record.data, record.size);
		at = record.next;
		/* Free the room at once. */
		__atomic_store_n(ring->consumed, at, __ATOMIC_RELEASE);
	}
	return busy;
}

bool ring_drain(struct ring *ring, ring_record_fn *fn, void *ctx)
{
	return !drain(ring, false, fn, ctx);
}

unsigned int ring_drain_rest(struct ring *ring, ring_record_fn *fn, void *ctx)
{
	return drain(ring, true, fn, ctx);
}

bool ring_is_blocked(const struct ring *ring)
{
	unsigned long end = __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE);

	for (unsigned long at = *ring->consumed; at < end;) {
		struct ring_record record = record_at(ring, at);

		if (record.is_busy)
			return true;
		at = record.next;
	}
	return false;
}
