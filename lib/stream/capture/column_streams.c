/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/column_streams.h"

#include <string.h>

#include "lib/base/alloc.h"

#define PAGE_BITS 12

void column_streams_release(struct column_streams *s)
{
	for (size_t i = 0; i < COLUMN_STREAMS; i++)
		vec_release(&s->written[i]);
	vec_release(&s->whole);
}

void column_streams_begin_encoding(struct column_streams *s)
{
	s->is_decoding = s->failed = false;
	for (size_t i = 0; i < COLUMN_STREAMS; i++)
		vec_clear(&s->written[i]);
}

/* The sizes stand before the streams, of 4 bytes each. */
bool column_streams_begin_decoding(struct column_streams *s, const uint8_t *bytes, size_t size,
				   size_t count)
{
	uint32_t sizes[COLUMN_STREAMS] = {0};
	const size_t head = count * sizeof(*sizes);
	const uint8_t *at = bytes + head;

	s->is_decoding = true;
	s->failed = false;
	if (size < head)
		return false;
	memcpy(sizes, bytes, head);
	size -= head;
	for (size_t i = 0; i < COLUMN_STREAMS; i++) {
		if (sizes[i] > size)
			return false;
		s->read[i].at = at;
		s->read[i].end = at += sizes[i];
		size -= sizes[i];
	}
	return true;
}

static uint8_t *add_bytes(struct column_streams *s, const void *bytes, size_t size)
{
	size_t at = s->whole.count;

	vec_add_zeroed(&s->whole, size);
	if (size)
		memcpy(s->whole.items + at, bytes, size);
	return s->whole.items;
}

const uint8_t *column_streams_end(struct column_streams *s, size_t *size)
{
	uint32_t sizes[COLUMN_STREAMS];

	for (size_t i = 0; i < COLUMN_STREAMS; i++)
		sizes[i] = (uint32_t)s->written[i].count;
	vec_clear(&s->whole);
	add_bytes(s, sizes, sizeof(sizes));
	for (size_t i = 0; i < COLUMN_STREAMS; i++)
		add_bytes(s, s->written[i].items, s->written[i].count);
	*size = s->whole.count;
	return s->whole.items;
}

uint8_t column_byte(struct column_streams *s, unsigned int stream, uint8_t value)
{
	if (!s->is_decoding) {
		vec_push(&s->written[stream], value);
		return value;
	}
	if (s->read[stream].at < s->read[stream].end)
		return *s->read[stream].at++;
	s->failed = true;
	return 0;
}

/* Seven bits a byte, the lowest first; the highest bit says that another byte follows. */
uint64_t column_number(struct column_streams *s, unsigned int stream, uint64_t value)
{
	uint64_t read = 0;

	if (!s->is_decoding) {
		uint64_t left = value;

		for (; left >= 0x80; left >>= 7)
			vec_push(&s->written[stream], (uint8_t)(left | 0x80));
		vec_push(&s->written[stream], (uint8_t)left);
		return value;
	}
	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = column_byte(s, stream, 0);

		read |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return read;
	}
	s->failed = true;
	return 0;
}

int64_t column_signed(struct column_streams *s, unsigned int stream, int64_t value)
{
	uint64_t folded = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);

	folded = column_number(s, stream, folded);
	return (int64_t)(folded >> 1 ^ -(folded & 1));
}

void column_bytes(struct column_streams *s, unsigned int stream, void *bytes, size_t size)
{
	if (!s->is_decoding) {
		size_t at = s->written[stream].count;

		vec_add_zeroed(&s->written[stream], size);
		if (size)
			memcpy(s->written[stream].items + at, bytes, size);
		return;
	}
	if (size > (size_t)(s->read[stream].end - s->read[stream].at)) {
		s->failed = true;
		return;
	}
	memcpy(bytes, s->read[stream].at, size);
	s->read[stream].at += size;
}

void column_values_release(struct column_values *v)
{
	vec_release(&v->rows);
	index_release(&v->by_value);
}

void column_values_clear(struct column_values *v)
{
	index_clear(&v->by_value);
	vec_clear(&v->rows);
}

static bool has_value(const void *table, uint32_t row, const void *key)
{
	return ((const uint64_t *)table)[row] == *(const uint64_t *)key;
}

static uint32_t find(const struct column_values *v, uint64_t hash, uint64_t value)
{
	return index_find(&v->by_value, hash, has_value, v->rows.items, &value);
}

static uint32_t add(struct column_values *v, uint64_t hash, uint64_t value)
{
	uint32_t row = (uint32_t)v->rows.count;

	vec_push(&v->rows, value);
	index_add(&v->by_value, hash, row);
	return row;
}

uint32_t column_values_add(struct column_values *v, uint64_t value)
{
	uint64_t hash = hash_pair(v->seed, value);
	uint32_t row = find(v, hash, value);

	return row != INDEX_NONE ? row : add(v, hash, value);
}

static uint64_t last_of(const struct column_values *v)
{
	return v->rows.count ? vec_last(&v->rows) : 0;
}

/* Codes the number of a value, and 1, or 0. Returns its row, or INDEX_NONE: it is new. */
static uint32_t code_number(struct column_streams *s, unsigned int stream, struct column_values *v,
			    uint64_t hash, uint64_t value)
{
	uint32_t row = s->is_decoding ? INDEX_NONE : find(v, hash, value);
	uint64_t number = column_number(s, stream, row == INDEX_NONE ? 0 : (uint64_t)row + 1);

	if (number > v->rows.count) {
		s->failed = true;
		number = 0;
	}
	return number ? (uint32_t)number - 1 : INDEX_NONE;
}

/* Adds values that are read as new without a search: being there twice does no harm. */
static uint32_t add_new(struct column_streams *s, struct column_values *v, uint64_t hash,
			uint64_t value)
{
	if (!s->is_decoding)
		return add(v, hash, value);
	if (v->is_found)
		return column_values_add(v, value);
	vec_push(&v->rows, value);
	return (uint32_t)v->rows.count - 1;
}

uint32_t column_row(struct column_streams *s, unsigned int stream, struct column_values *v,
		    uint64_t value)
{
	uint64_t hash = hash_pair(v->seed, value);
	uint32_t row = code_number(s, stream, v, hash, value);

	if (row != INDEX_NONE || s->failed)
		return row;
	value = last_of(v) + (uint64_t)column_signed(s, stream + 1, (int64_t)(value - last_of(v)));
	return add_new(s, v, hash, value);
}

uint64_t column_address(struct column_streams *s, unsigned int stream, struct column_values *v,
			unsigned int page_stream, struct column_values *pages, uint64_t value)
{
	uint64_t hash = hash_pair(v->seed, value), page;
	uint32_t row = code_number(s, stream, v, hash, value);

	if (row != INDEX_NONE)
		return v->rows.items[row];
	if (s->failed)
		return 0;
	page = column_value(s, page_stream, pages, value >> PAGE_BITS);
	value = page << PAGE_BITS | (column_byte(s, page_stream + 2, value >> 8 & 0xf) & 0xf) << 8 |
		column_byte(s, page_stream + 3, value & 0xff);
	add_new(s, v, hash, value);
	return value;
}

uint64_t column_value(struct column_streams *s, unsigned int stream, struct column_values *v,
		      uint64_t value)
{
	uint32_t row = column_row(s, stream, v, value);

	return row == INDEX_NONE ? 0 : v->rows.items[row];
}
