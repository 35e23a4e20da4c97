/* SPDX-License-Identifier: MIT */
#include "lib/base/protobuf.h"

#include <endian.h>

enum { PROTOBUF_CURSOR_VARINT = 0, FIXED_64 = 1, PROTOBUF_CURSOR_DELIMITED = 2, FIXED_32 = 5 };

struct protobuf_cursor protobuf_cursor_of(const void *data, size_t size)
{
	return (struct protobuf_cursor){.at = data, .end = (const uint8_t *)data + size};
}

static bool fail(struct protobuf_cursor *s)
{
	s->failed = true;
	return false;
}

bool protobuf_take(struct protobuf_cursor *s, uint64_t *value)
{
	*value = 0;
	if (s->failed || s->at == s->end)
		return false;
	for (unsigned int shift = 0; shift < 64 && s->at < s->end; shift += 7) {
		uint8_t byte = *s->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return fail(s);
}

static bool take_fixed(struct protobuf_cursor *s, size_t size, uint64_t *value)
{
	if ((size_t)(s->end - s->at) < size)
		return fail(s);
	*value = 0;
	memcpy(value, s->at, size);
	s->at += size;
	return true;
}

static bool take_bytes(struct protobuf_cursor *s, struct protobuf_field *field)
{
	uint64_t size;

	if (!protobuf_take(s, &size) || size > (uint64_t)(s->end - s->at))
		return fail(s);
	field->is_bytes = true;
	field->bytes = protobuf_cursor_of(s->at, (size_t)size);
	s->at += size;
	return true;
}

char *protobuf_text(const struct protobuf_cursor *s)
{
	return xstrndup((const char *)s->at, (size_t)(s->end - s->at));
}

bool protobuf_take_of(struct protobuf_field *field, bool is_fixed, uint64_t *value)
{
	struct protobuf_cursor *s = &field->bytes;

	if (field->is_bytes)
		return is_fixed ? s->at < s->end && take_fixed(s, 8, value)
				: protobuf_take(s, value);
	*value = field->value;
	field->is_bytes = true;
	*s = protobuf_cursor_of("", 0);
	return true;
}

bool protobuf_next(struct protobuf_cursor *s, struct protobuf_field *field)
{
	uint64_t tag;

	if (!protobuf_take(s, &tag))
		return false;
	if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
		return fail(s);
	*field = (struct protobuf_field){.number = (uint32_t)(tag >> 3)};
	switch (tag & 7) {
	case PROTOBUF_CURSOR_VARINT:
		return protobuf_take(s, &field->value) || fail(s);
	case FIXED_64:
		return take_fixed(s, 8, &field->value);
	case PROTOBUF_CURSOR_DELIMITED:
		return take_bytes(s, field);
	case FIXED_32:
		return take_fixed(s, 4, &field->value);
	default:
		return fail(s);
	}
}

/* Wire types. */
enum { VARINT = 0, DELIMITED = 2 };

#define VARINT_SIZE 10

static size_t format_varint(char bytes[VARINT_SIZE], uint64_t value)
{
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (char)(value | 0x80);
	bytes[size++] = (char)value;
	return size;
}

void protobuf_varint(struct strbuf *out, uint64_t value)
{
	char bytes[VARINT_SIZE];

	strbuf_add(out, bytes, format_varint(bytes, value));
}

void protobuf_number(struct strbuf *out, uint32_t field, uint64_t value)
{
	protobuf_varint(out, (uint64_t)field << 3 | VARINT);
	protobuf_varint(out, value);
}

void protobuf_u64(struct strbuf *out, uint32_t field, uint64_t value)
{
	if (value)
		protobuf_number(out, field, value);
}

void protobuf_fixed64(struct strbuf *out, uint32_t field, uint64_t value)
{
	value = htole64(value);
	protobuf_varint(out, (uint64_t)field << 3 | FIXED_64);
	strbuf_add(out, &value, sizeof(value));
}

void protobuf_head(struct strbuf *out, uint32_t field, size_t size)
{
	protobuf_varint(out, (uint64_t)field << 3 | DELIMITED);
	protobuf_varint(out, size);
}

void protobuf_bytes(struct strbuf *out, uint32_t field, const void *data, size_t size)
{
	if (!size)
		return;
	protobuf_head(out, field, size);
	strbuf_add(out, data, size);
}

size_t protobuf_begin(struct strbuf *out, uint32_t field)
{
	protobuf_varint(out, (uint64_t)field << 3 | DELIMITED);
	return out->size;
}

/* Makes room for the size, which is now known. */
void protobuf_end(struct strbuf *out, size_t at)
{
	char bytes[VARINT_SIZE];
	size_t size = out->size - at, count = format_varint(bytes, size);

	strbuf_add(out, bytes, count);
	memmove(out->text + at + count, out->text + at, size);
	memcpy(out->text + at, bytes, count);
}
