/* SPDX-License-Identifier: MIT */
#include "lib/format/protobuf.h"

/* Wire types. */
enum { VARINT = 0, DELIMITED = 2 };

void protobuf_varint(struct strbuf *out, uint64_t value)
{
	char bytes[10];
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (char)(value | 0x80);
	bytes[size++] = (char)value;
	strbuf_add(out, bytes, size);
}

void protobuf_u64(struct strbuf *out, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	protobuf_varint(out, (uint64_t)field << 3 | VARINT);
	protobuf_varint(out, value);
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
