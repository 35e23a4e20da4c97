/* SPDX-License-Identifier: MIT */
/*
 * Names of Java's threads, which the kernel truncates to 15 bytes. They are in objects of the heap,
 * whose forms differ between releases and options, and are learned from a thread that each JVM has.
 */
#include "lib/code/runtimes/hotspot.h"

#include "bpf/record.h"

#define KNOWN "Reference Handler"
/* Threads of the list that may be the known one, and maximum to read. */
#define KNOWN_AT_MAX 16
#define THREADS_MAX 1024
/* Bytes of a Thread and of a String to search, and of the head of an array, which text follows. */
#define THREAD_SIZE 224
#define STRING_SIZE 40
#define ARRAY_HEAD 24
/* Members follow a header of at least one word. */
#define HEADER 8

/* Offsets of Thread.name, String.value, and an array's length and text; bytes of a reference. */
union places {
	struct {
		uint8_t name, value, length, text, width;
	};
	uint64_t all; /* 0: unknown */
};

struct names_reader {
	struct hotspot_memory memory;
	const struct hotspot_layout *layout;
	uint64_t base; /* of 32-bit references */
	uint32_t shift;
	union places places;
};

/* Returns the address in a member of an object; 0: none. */
static uint64_t reference_at(const struct names_reader *r, const uint8_t *object, uint8_t at,
			     uint8_t width)
{
	uint64_t value = 0;

	memcpy(&value, object + at, width);
	return width == sizeof(uint32_t) && value ? r->base + (value << r->shift) : value;
}

static bool find_text(struct names_reader *r, uint64_t array)
{
	uint8_t bytes[ARRAY_HEAD + sizeof(KNOWN)];
	const uint8_t size = sizeof(KNOWN) - 1;
	uint32_t length;

	if (!array || array % 8 || !hotspot_memory_read(&r->memory, array, bytes, sizeof(bytes)))
		return false;
	for (uint8_t at = HEADER; at < ARRAY_HEAD; at += sizeof(length)) {
		memcpy(&length, bytes + at, sizeof(length));
		for (uint8_t text = at + sizeof(length); length == size && text <= ARRAY_HEAD;
		     text += sizeof(length)) {
			if (memcmp(bytes + text, KNOWN, size) != 0)
				continue;
			r->places.length = at;
			r->places.text = text;
			return true;
		}
	}
	return false;
}

static bool find_value(struct names_reader *r, uint64_t string, uint8_t width)
{
	uint8_t bytes[STRING_SIZE];

	if (!string || string % 8 || !hotspot_memory_read(&r->memory, string, bytes, sizeof(bytes)))
		return false;
	for (uint8_t at = HEADER; at + width <= STRING_SIZE; at += width) {
		if (!find_text(r, reference_at(r, bytes, at, width)))
			continue;
		r->places.value = at;
		return true;
	}
	return false;
}

/* Learns the places if the object is the known thread. */
static bool learn(struct names_reader *r, uint64_t object)
{
	uint8_t bytes[THREAD_SIZE];

	if (!hotspot_memory_read(&r->memory, object, bytes, sizeof(bytes)))
		return false;
	for (uint8_t width = sizeof(uint32_t); width <= sizeof(uint64_t); width *= 2) {
		for (uint8_t at = HEADER; at + width <= THREAD_SIZE; at += width) {
			if (!find_value(r, reference_at(r, bytes, at, width), width))
				continue;
			r->places.name = at;
			r->places.width = width;
			return true;
		}
	}
	return false;
}

/* Returns the Thread of a JavaThread; 0: unreadable. */
static uint64_t object_of(struct names_reader *r, uint64_t thread)
{
	uint64_t object;

	if (!hotspot_memory_word(&r->memory, thread + r->layout->thread_object, &object))
		return 0;
	/* From 16 on, a handle: the address of a reference. */
	if (object && r->layout->version >= 16 && !hotspot_memory_word(&r->memory, object, &object))
		return 0;
	return object;
}

/* Follows a member that is a reference. Returns 0 if it is unreadable. */
static uint64_t follow(struct names_reader *r, uint64_t object, uint8_t at)
{
	uint8_t bytes[sizeof(uint64_t)];

	if (!object || !hotspot_memory_read(&r->memory, object + at, bytes, r->places.width))
		return 0;
	return reference_at(r, bytes, 0, r->places.width);
}

/* Passes on a name that the kernel has truncated, if it is Latin-1: others contain zeros. */
static void give_name(struct names_reader *r, uint64_t thread, runtime_thread_fn *fn, void *ctx)
{
	uint64_t array = follow(r, follow(r, object_of(r, thread), r->places.name),
				r->places.value);
	_cleanup_(strbuf_release) struct strbuf name = {0};
	uint8_t text[THREAD_NAME_MAX];
	uint32_t length, tid;
	uint64_t os_thread;

	if (!array || !hotspot_memory_int(&r->memory, array + r->places.length, &length) ||
	    length < REC_NAME_SIZE || length > sizeof(text) ||
	    !hotspot_memory_read(&r->memory, array + r->places.text, text, length) ||
	    memchr(text, '\0', length) ||
	    !hotspot_memory_word(&r->memory, thread + r->layout->os_thread, &os_thread) ||
	    !hotspot_memory_int(&r->memory, os_thread + r->layout->thread_id, &tid) || !tid)
		return;
	for (uint32_t i = 0; i < length; i++)
		strbuf_add_utf8(&name, text[i]);
	fn(ctx, tid, &name);
}

static bool begin(struct names_reader *r, uint64_t bias, uint64_t *list, uint32_t *count)
{
	const struct hotspot_layout *l = r->layout;

	return l->thread_object && l->os_thread && l->thread_id && l->list_rows && l->narrow_base &&
	       l->narrow_shift && l->flags & HOTSPOT_THREAD_LIST &&
	       hotspot_memory_word(&r->memory, l->narrow_base + bias, &r->base) &&
	       hotspot_memory_int(&r->memory, l->narrow_shift + bias, &r->shift) && r->shift < 8 &&
	       hotspot_memory_word(&r->memory, l->threads + bias, list) &&
	       hotspot_memory_int(&r->memory, *list + l->list_length, count) &&
	       hotspot_memory_word(&r->memory, *list + l->list_rows, list);
}

void hotspot_threads(const struct runtime_layout *layout, uint64_t bias, uint64_t *kept,
		     runtime_read_fn *read, void *read_ctx, runtime_thread_fn *fn, void *ctx)
{
	struct names_reader r = {
		.memory = {read, read_ctx}, .layout = &layout->hotspot, .places.all = *kept};
	uint64_t list, thread;
	uint32_t count;

	if (!begin(&r, bias, &list, &count))
		return;
	for (uint32_t i = 0; i < count && i < KNOWN_AT_MAX && !r.places.width; i++) {
		if (hotspot_memory_word(&r.memory, list + 8ull * i, &thread))
			learn(&r, object_of(&r, thread));
	}
	*kept = r.places.width ? r.places.all : 0;
	for (uint32_t i = 0; i < count && i < THREADS_MAX && r.places.width; i++) {
		if (hotspot_memory_word(&r.memory, list + 8ull * i, &thread))
			give_name(&r, thread, fn, ctx);
	}
}
