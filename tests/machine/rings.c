/* SPDX-License-Identifier: MIT */
#include "tests/machine/rings.h"

#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/base.h"
#include "tests/machine/internal.h"

bool ring_is_there(uint32_t cpu)
{
	return machine_ring(cpu);
}

uint64_t ring_used(uint32_t cpu)
{
	const struct descriptor *d = machine_ring(cpu);

	return d ? *d->produced - __atomic_load_n(d->consumed, __ATOMIC_ACQUIRE) : 0;
}

/* The second half of the data shows the first one's memory. */
static void put(struct descriptor *d, uint64_t at, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint64_t place = (at + i) & (d->size - 1);

		d->data[place] = d->data[place + d->size] = ((const uint8_t *)bytes)[i];
	}
}

bool ring_write(uint32_t cpu, const void *record, size_t size, struct ring_place *place)
{
	struct descriptor *d = machine_ring(cpu);
	uint32_t header[2] = {(uint32_t)size | (place ? BPF_RINGBUF_BUSY_BIT : 0), 0};
	uint64_t at, whole = (BPF_RINGBUF_HDR_SZ + size + 7) & ~7ull;

	/* The kernel fills no ring to its last byte. */
	if (!d || ring_used(cpu) + whole > d->size - 1)
		return false;
	at = *d->produced;
	put(d, at + BPF_RINGBUF_HDR_SZ, record, size);
	put(d, at, header, sizeof(header));
	if (place)
		*place = (struct ring_place){cpu, at};
	__atomic_store_n(d->produced, at + whole, __ATOMIC_RELEASE);
	return true;
}

void ring_finish(const struct ring_place *place)
{
	struct descriptor *d = machine_ring(place->cpu);
	uint32_t size;

	if (!d)
		return;
	memcpy(&size, d->data + (place->at & (d->size - 1)), sizeof(size));
	size &= ~BPF_RINGBUF_BUSY_BIT;
	put(d, place->at, &size, sizeof(size));
}

void ring_wake(uint32_t cpu)
{
	struct descriptor *d = machine_ring(cpu);

	if (d)
		descriptors_wake(d);
}

static uint64_t data_size(const struct descriptor *d)
{
	return d->size - (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool has_room(const struct descriptor *d, size_t size)
{
	uint64_t tail = __atomic_load_n(&d->control->data_tail, __ATOMIC_ACQUIRE);

	return d->control->data_head - tail + size <= data_size(d);
}

static void append(struct descriptor *d, const void *record, size_t size)
{
	uint8_t *data = (uint8_t *)d->control + sysconf(_SC_PAGESIZE);
	uint64_t head = d->control->data_head;

	for (size_t i = 0; i < size; i++)
		data[(head + i) % data_size(d)] = ((const uint8_t *)record)[i];
	__atomic_store_n(&d->control->data_head, head + size, __ATOMIC_RELEASE);
}

/* Writes the record that precedes the first one that finds room again. */
static bool tell_lost(struct descriptor *d, size_t size)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
	} record = {
		.header = {.type = PERF_RECORD_LOST, .size = sizeof(record)},
		.lost = d->lost,
		.time = clock_monotonic_ns(),
		.cpu = d->cpu,
	};

	if (!has_room(d, sizeof(record) + size))
		return false;
	append(d, &record, sizeof(record));
	d->lost = 0;
	return true;
}

bool map_ring_write(uint32_t cpu, const void *record, size_t size)
{
	struct descriptor *d = machine_map_ring(cpu);
	uint64_t mark;

	if (!d)
		return false;
	if (d->to_lose || !has_room(d, size) || (d->lost && !tell_lost(d, size))) {
		d->to_lose -= d->to_lose > 0;
		d->lost++;
		d->lost_ever++;
		return false;
	}
	mark = d->control->data_head / d->attr.wakeup_watermark;
	append(d, record, size);
	if (d->control->data_head / d->attr.wakeup_watermark > mark)
		descriptors_wake(d);
	return true;
}

void map_ring_lose(uint32_t cpu, uint32_t count)
{
	struct descriptor *d = machine_map_ring(cpu);

	if (d)
		d->to_lose += count;
}
