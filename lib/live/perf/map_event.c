/* SPDX-License-Identifier: MIT */
#include "lib/live/perf/map_event.h"

#include <linux/perf_event.h>
#include <string.h>

#include "lib/base/bytes.h"

static bool parse_map(struct bytes *b, uint16_t misc, struct map_event *event)
{
	const void *build_id;

	event->kind = MAP_EVENT_MAP;
	event->pid = bytes_u32(b);
	event->tid = bytes_u32(b);
	event->start = bytes_u64(b);
	event->size = bytes_u64(b);
	event->file_offset = bytes_u64(b);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		event->build_id_size = bytes_u8(b);
		bytes_skip(b, 3);
		build_id = bytes_take(b, sizeof(event->build_id));
		if (!build_id || event->build_id_size > sizeof(event->build_id))
			return false;
		memcpy(event->build_id, build_id, sizeof(event->build_id));
	} else {
		event->device_major = bytes_u32(b);
		event->device_minor = bytes_u32(b);
		event->inode = bytes_u64(b);
		event->inode_generation = bytes_u64(b);
	}
	bytes_skip(b, 8); /* protection and flags: always executable */
	event->path = bytes_cstr(b);
	return event->path && event->start + event->size > event->start;
}

/* Reports only new code: the names of removed code stay valid for earlier samples. */
static bool parse_code(struct bytes *b, struct map_event *event)
{
	uint16_t flags;

	event->kind = MAP_EVENT_CODE;
	event->start = bytes_u64(b);
	event->size = bytes_u32(b);
	bytes_skip(b, 2); /* the type: BPF or other */
	flags = bytes_u16(b);
	event->path = bytes_cstr(b);
	return event->path && *event->path && !(flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) &&
	       event->start + event->size > event->start;
}

/* Parses a sampling event's record, which has its own time field. */
static bool parse_throttling(struct bytes *b, bool is_sampled, struct map_event *event)
{
	event->kind = is_sampled ? MAP_EVENT_SAMPLED : MAP_EVENT_THROTTLED;
	event->time = bytes_u64(b);
	event->event_id = bytes_u64(b);
	return !b->failed;
}

static bool has_sample_id(const struct perf_event_header *header)
{
	switch (header->type) {
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return false;
	case PERF_RECORD_LOST: /* written by the next event that finds room */
		return header->size > sizeof(*header) + 16;
	default:
		return true;
	}
}

/* False: a record of no interest. */
static bool parse_body(const struct perf_event_header *header, struct bytes *b,
		       struct map_event *event)
{
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		return parse_map(b, header->misc, event);
	case PERF_RECORD_COMM:
		event->kind = MAP_EVENT_NEW_SPACE;
		event->pid = bytes_u32(b);
		event->tid = bytes_u32(b);
		return header->misc & PERF_RECORD_MISC_COMM_EXEC && !b->failed;
	case PERF_RECORD_KSYMBOL:
		return parse_code(b, event);
	case PERF_RECORD_LOST:
		event->kind = MAP_EVENT_LOST;
		bytes_skip(b, 8);
		event->lost = bytes_u64(b);
		return !b->failed;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return parse_throttling(b, header->type == PERF_RECORD_UNTHROTTLE, event);
	default:
		return false;
	}
}

/*
 * Returns the offset of sample_id. It ends a record, except when several listen for the names of
 * code: the kernel then enlarges the record by one sample_id per listener and writes only the
 * first.
 */
static size_t sample_id_at(const struct perf_event_header *header, const struct bytes *body)
{
	size_t end = header->size - MAP_EVENT_SAMPLE_ID_SIZE;
	size_t behind = (sizeof(*header) + bytes_position(body) + 7) & ~(size_t)7;

	return header->type == PERF_RECORD_KSYMBOL && behind < end ? behind : end;
}

bool map_event_parse(const void *record, size_t size, struct map_event *event)
{
	struct perf_event_header header;
	struct bytes body, id;
	size_t id_size;

	if (size < sizeof(header))
		return false;
	memcpy(&header, record, sizeof(header));
	id_size = has_sample_id(&header) ? MAP_EVENT_SAMPLE_ID_SIZE : 0;
	if (header.size > size || header.size < sizeof(header) + id_size)
		return false;
	bytes_init(&body, (const uint8_t *)record + sizeof(header),
		   header.size - sizeof(header) - id_size);
	if (!parse_body(&header, &body, event))
		return false;
	if (!id_size)
		return true;
	bytes_init(&id, (const uint8_t *)record + sample_id_at(&header, &body), id_size);
	bytes_skip(&id, 8);
	event->time = bytes_u64(&id);
	return true;
}
