/* SPDX-License-Identifier: MIT */
/* A checked cursor over bytes in either byte order. */
#pragma once

#include "lib/base/bytes.h"

struct ordered_bytes {
	struct bytes bytes;
	bool is_swapped; /* the bytes are big-endian */
};

static inline struct ordered_bytes ordered_bytes_of(const void *data, size_t size, bool is_swapped)
{
	struct ordered_bytes b = {.is_swapped = is_swapped};

	bytes_init(&b.bytes, data, size);
	return b;
}

static inline uint16_t ordered_u16(struct ordered_bytes *b)
{
	uint16_t value = bytes_u16(&b->bytes);

	return b->is_swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t ordered_u32(struct ordered_bytes *b)
{
	uint32_t value = bytes_u32(&b->bytes);

	return b->is_swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t ordered_u64(struct ordered_bytes *b)
{
	uint64_t value = bytes_u64(&b->bytes);

	return b->is_swapped ? __builtin_bswap64(value) : value;
}

/* Reads one word of an array in place. */
static inline uint64_t ordered_word(const void *words, size_t i, bool is_swapped)
{
	uint64_t value;

	memcpy(&value, (const char *)words + i * sizeof(value), sizeof(value));
	value = le64toh(value);
	return is_swapped ? __builtin_bswap64(value) : value;
}
