/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/v8_heap.h"

#include "lib/base/alloc.h"
#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"

#define PIECE ((uint64_t)1 << 16)
/* Strings that a text is made of. */
#define PARTS_MAX 64
#define WORDS_MAX 32

bool v8_heap_read(const struct v8_heap *h, uint64_t reference, uint64_t offset, void *to,
		  size_t size)
{
	return (reference & 3) == 1 && h->read(h->ctx, reference - 1 + offset, to, size);
}

bool v8_heap_words(const struct v8_heap *h, uint64_t reference, uint64_t offset, uint64_t *words,
		   size_t count)
{
	uint8_t data[WORDS_MAX * 8];
	struct bytes b;

	while (count) {
		size_t now = count < WORDS_MAX ? count : WORDS_MAX;

		if (!v8_heap_read(h, reference, offset, data, now * 8))
			return false;
		bytes_init(&b, data, now * 8);
		for (size_t i = 0; i < now; i++)
			*words++ = bytes_u64(&b);
		offset += now * 8;
		count -= now;
	}
	return true;
}

bool v8_heap_type(const struct v8_heap *h, uint64_t reference, uint16_t *type)
{
	uint8_t data[2];
	struct bytes b;
	uint64_t map;

	if (!v8_heap_words(h, reference, 0, &map, 1) ||
	    !v8_heap_read(h, map, h->layout->map_type, data, sizeof(data)))
		return false;
	bytes_init(&b, data, sizeof(data));
	*type = bytes_u16(&b);
	return true;
}

bool v8_heap_is(const struct v8_heap *h, uint64_t reference, enum v8_type type)
{
	uint16_t found;

	return v8_heap_type(h, reference, &found) && found == h->layout->types[type];
}

enum {
	FLAT = 0,
	CONS = 1,
	EXTERNAL = 2,
	SLICED = 3,
	THIN = 5,
	KIND = 7,
	ONE_BYTE = 8,
	UNCACHED = 16,
};

struct part {
	uint64_t string, skipped;
	uint64_t length; /* 0: all of it */
};

struct text_reader {
	const struct v8_heap *heap;
	uint64_t left; /* bytes that may still be read */
	v8_take_text_fn *take;
	void *ctx;
};

/* A string as it lies in memory. */
struct string {
	uint16_t type;
	uint64_t length, first, second; /* the words after the length */
};

static bool read_string(const struct text_reader *r, uint64_t reference, struct string *s)
{
	uint64_t words[4];

	if (!v8_heap_type(r->heap, reference, &s->type) || s->type >= r->heap->layout->string_end ||
	    !v8_heap_words(r->heap, reference, 0, words, 4))
		return false;
	s->length = words[1] >> 32;
	s->first = words[2];
	s->second = words[3];
	return true;
}

static bool read_characters(struct text_reader *r, uint64_t addr, unsigned int width,
			    uint64_t length)
{
	uint64_t size = length * width, room = size < PIECE ? size : PIECE;
	_cleanup_free_ uint8_t *piece = NULL;

	if (size > r->left)
		return false;
	piece = xmalloc(room + 1);
	r->left -= size;
	while (size) {
		uint64_t now = size < PIECE ? size : PIECE;

		if (!r->heap->read(r->heap->ctx, addr, piece, now))
			return false;
		r->take(r->ctx, width, piece, now);
		addr += now;
		size -= now;
	}
	return true;
}

/* Reads a part, or replaces it by those that it is made of. False: it cannot be read. */
static bool read_part(struct text_reader *r, struct part *parts, size_t *count)
{
	struct part part = parts[--*count];
	struct string s;
	unsigned int width;

	if (!read_string(r, part.string, &s))
		return false;
	if (!part.length)
		part.length = s.length;
	width = s.type & ONE_BYTE ? 1 : 2;
	part.skipped &= UINT32_MAX;
	switch (s.type & KIND) {
	case FLAT:
		return read_characters(r, part.string - 1 + V8_STRING_TEXT + part.skipped * width,
				       width, part.length);
	case EXTERNAL:
		return !(s.type & UNCACHED) &&
		       read_characters(r, s.second + part.skipped * width, width, part.length);
	case THIN:
		parts[(*count)++] = (struct part){s.first, part.skipped, part.length};
		return true;
	case SLICED:
		parts[(*count)++] = (struct part){s.first, part.skipped + (s.second >> 32),
						  part.length};
		return true;
	case CONS:
		/* Only a flat string has slices. */
		if (part.skipped || part.length != s.length || *count + 2 > PARTS_MAX)
			return false;
		parts[(*count)++] = (struct part){.string = s.second};
		parts[(*count)++] = (struct part){.string = s.first};
		return true;
	}
	return false;
}

bool v8_heap_string(const struct v8_heap *h, uint64_t reference, uint64_t max,
		    v8_take_text_fn *take, void *ctx)
{
	struct text_reader r = {.heap = h, .left = max, .take = take, .ctx = ctx};
	struct part parts[PARTS_MAX] = {{.string = reference}};
	size_t count = 1, hops = 0;
	bool is_read = true;

	while (is_read && count)
		is_read = ++hops < 4 * PARTS_MAX && read_part(&r, parts, &count);
	return is_read;
}
