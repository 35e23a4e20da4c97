/* SPDX-License-Identifier: MIT */
/*
 * A bounds-checked cursor over untrusted bytes. Reads past the end give zeros and set `failed`,
 * which stays set: read a whole structure, then check once. The memory must stay readable: copy the
 * bytes of a mapped file first, because it may be truncated.
 */
#pragma once

#include <endian.h>

#include "lib/base/base.h"

struct bytes {
	const uint8_t *start, *at, *end;
	bool failed;
};

void bytes_init(struct bytes *b, const void *data, size_t size);
static inline size_t bytes_left(const struct bytes *b)
{
	return b->failed ? 0 : (size_t)(b->end - b->at);
}
static inline size_t bytes_position(const struct bytes *b)
{
	return (size_t)(b->at - b->start);
}
/* Consumes `size` bytes and returns them in place, or NULL. */
static inline const void *bytes_take(struct bytes *b, size_t size)
{
	const uint8_t *at = b->at;

	if (b->failed || size > (size_t)(b->end - at)) {
		b->failed = true;
		return NULL;
	}
	b->at = at + size;
	return at;
}
static inline void bytes_skip(struct bytes *b, size_t size)
{
	bytes_take(b, size);
}
/* Little-endian, the byte order of every machine that prof records. */
static inline uint8_t bytes_u8(struct bytes *b)
{
	const uint8_t *at = bytes_take(b, 1);

	return at ? *at : 0;
}
static inline uint16_t bytes_u16(struct bytes *b)
{
	const void *at = bytes_take(b, 2);
	uint16_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return le16toh(value);
}
static inline uint32_t bytes_u32(struct bytes *b)
{
	const void *at = bytes_take(b, 4);
	uint32_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return le32toh(value);
}
static inline uint64_t bytes_u64(struct bytes *b)
{
	const void *at = bytes_take(b, 8);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, sizeof(value));
	return le64toh(value);
}
/*
 * Reads the unit_length that begins a DWARF unit (DWARF 5, 7.4). Sets *is_64bit if its offsets have
 * 64 bits.
 */
static inline uint64_t bytes_unit_length(struct bytes *b, bool *is_64bit)
{
	uint32_t length = bytes_u32(b);

	*is_64bit = length == UINT32_MAX;
	return *is_64bit ? bytes_u64(b) : length;
}

/* The slow path of bytes_uleb(). */
uint64_t bytes_uleb_long(struct bytes *b);
/* LEB128 as in DWARF; values of more than 64 bits fail. */
static inline uint64_t bytes_uleb(struct bytes *b)
{
	/* Nearly all values take one byte. */
	if (!b->failed && b->at < b->end && *b->at < 0x80)
		return *b->at++;
	return bytes_uleb_long(b);
}
int64_t bytes_sleb(struct bytes *b);
/* Reads a string that is terminated within the bounds; else returns NULL. */
const char *bytes_cstr(struct bytes *b);
/* Moves to an absolute position from the start. */
void bytes_seek(struct bytes *b, size_t position);
/* Advances to the next multiple of `alignment` (a power of two) from the start. */
void bytes_align(struct bytes *b, size_t alignment);
/* Returns a new cursor over the next `size` bytes; b skips them. */
struct bytes bytes_sub(struct bytes *b, size_t size);
