/* SPDX-License-Identifier: MIT */
#include "lib/base/bytes.h"

void bytes_init(struct bytes *b, const void *data, size_t size)
{
	static const uint8_t nothing[1];

	/* NULL + 0 is undefined in C, so an empty cursor points to a dummy byte. */
	b->start = data ? data : nothing;
	b->at = b->start;
	b->end = b->start + (data ? size : 0);
	b->failed = !data && size;
}

/*
 * LEB128 may be padded with groups that add nothing, so only the bounds limit its length. For the
 * value to fit, all groups from the 64th bit on must repeat `filler`.
 */
static uint64_t leb(struct bytes *b, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte, filler;

	do {
		const uint8_t *at = bytes_take(b, 1);

		if (!at)
			return 0;
		byte = *at;
		if (shift < 63) {
			value |= (uint64_t)(byte & 0x7f) << shift;
			shift += 7;
			continue;
		}
		/* Only the lowest bit of the group at bit 63 belongs to the value. */
		if (shift == 63) {
			value |= (uint64_t)(byte & 1) << 63;
			shift = 64;
			filler = is_signed && (byte & 1) ? 0x7f : byte & 1;
		} else {
			filler = is_signed && value >> 63 ? 0x7f : 0;
		}
		if ((byte & 0x7f) != filler) {
			b->failed = true;
			return 0;
		}
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= UINT64_MAX << shift;
	return value;
}

uint64_t bytes_uleb_long(struct bytes *b)
{
	return leb(b, false);
}

int64_t bytes_sleb(struct bytes *b)
{
	return (int64_t)leb(b, true);
}

const char *bytes_cstr(struct bytes *b)
{
	size_t left = bytes_left(b);
	const uint8_t *text = b->at;
	const uint8_t *terminator = left ? memchr(text, '\0', left) : NULL;

	if (!terminator) {
		b->failed = true;
		return NULL;
	}
	b->at = terminator + 1;
	return (const char *)text;
}

void bytes_seek(struct bytes *b, size_t position)
{
	if (b->failed || position > (size_t)(b->end - b->start)) {
		b->failed = true;
		return;
	}
	b->at = b->start + position;
}

void bytes_align(struct bytes *b, size_t alignment)
{
	bytes_skip(b, -bytes_position(b) & (alignment - 1));
}

struct bytes bytes_sub(struct bytes *b, size_t size)
{
	struct bytes sub;

	bytes_init(&sub, bytes_take(b, size), size);
	sub.failed = b->failed;
	return sub;
}
