/* SPDX-License-Identifier: MIT */
/* Shared by jfr_types.c and jfr_file.c only. */
#pragma once

#include "lib/format/jfr/jfr_file.h"

/* Events of the container itself. */
#define JFR_METADATA 0
#define JFR_CHECKPOINT 1

/* Maximum nesting of elements in the metadata, and of structs. */
#define JFR_DEPTH_MAX 24

/* Scale of times and amounts in the file. */
enum scale {
	SCALE_NONE,
	SCALE_TICKS,
	SCALE_NS,
	SCALE_US,
	SCALE_MS,
	SCALE_S,
	SCALE_BITS,
};

/* Integers: LEB128 whose ninth byte has eight bits, or big-endian of fixed width. */

static inline uint64_t jfr_compressed(struct bytes *b)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 56; shift += 7) {
		uint8_t byte = bytes_u8(b);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	return value | (uint64_t)bytes_u8(b) << 56;
}

static inline uint64_t jfr_big_endian(struct bytes *b, size_t size)
{
	const uint8_t *at = bytes_take(b, size);
	uint64_t value = 0;

	for (size_t i = 0; at && i < size; i++)
		value = value << 8 | at[i];
	return value;
}

static inline int64_t jfr_read_long(const struct jfr_chunk *c, struct bytes *b)
{
	if (c->is_compressed && b->at < b->end && *b->at < 0x80 && !b->failed)
		return *b->at++;
	return (int64_t)(c->is_compressed ? jfr_compressed(b) : jfr_big_endian(b, 8));
}

static inline int32_t jfr_read_int(const struct jfr_chunk *c, struct bytes *b)
{
	return (int32_t)(c->is_compressed ? jfr_compressed(b) : jfr_big_endian(b, 4));
}

static inline int16_t jfr_read_short(const struct jfr_chunk *c, struct bytes *b)
{
	return (int16_t)(c->is_compressed ? jfr_compressed(b) : jfr_big_endian(b, 2));
}

/* Returns a count of elements of at least a byte each. */
static inline uint32_t jfr_read_count(const struct jfr_chunk *c, struct bytes *b)
{
	int32_t count = jfr_read_int(c, b);

	if (count < 0 || (size_t)count > bytes_left(b)) {
		b->failed = true;
		return 0;
	}
	return (uint32_t)count;
}

int jfr_damaged(struct error *err, const char *what);
struct jfr_value jfr_read_text(const struct jfr_chunk *c, struct bytes *b);
/* Returns a row, or INDEX_NONE. */
uint32_t jfr_type_of_id(const struct jfr_chunk *c, uint64_t id);
/* Reads the types of a chunk, which has none, from its event of metadata, after the id. */
int jfr_types_read(struct jfr_chunk *c, const struct bytes *event, struct error *err);
