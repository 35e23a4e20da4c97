/* SPDX-License-Identifier: MIT */
/* Reads the text of a script from the process. */
#include "lib/base/alloc.h"
#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"
#include "lib/runtimes/v8.h"

#define SOURCE_MAX ((uint64_t)1 << 22) /* bytes; a longer text has no lines */
#define PIECE ((uint64_t)1 << 16)
/* Strings that a text is made of. */
#define PARTS_MAX 64
/* A collection moves texts while they are read. */
#define TRIES 2

struct reader {
	const struct v8_layout *layout;
	runtime_read_fn *read;
	void *ctx;
	uint64_t left; /* bytes that may still be read */
};

static bool read_at(const struct reader *r, uint64_t reference, uint64_t offset, void *to,
		    size_t size)
{
	return (reference & 3) == 1 && r->read(r->ctx, reference - 1 + offset, to, size);
}

static bool read_word(const struct reader *r, uint64_t reference, uint64_t offset, uint64_t *word)
{
	uint8_t bytes[8];
	struct bytes b;

	if (!read_at(r, reference, offset, bytes, sizeof(bytes)))
		return false;
	bytes_init(&b, bytes, sizeof(bytes));
	*word = bytes_u64(&b);
	return true;
}

static bool read_type(const struct reader *r, uint64_t reference, uint16_t *type)
{
	uint8_t bytes[2];
	struct bytes b;
	uint64_t map;

	if (!read_word(r, reference, 0, &map) ||
	    !read_at(r, map, r->layout->map_type, bytes, sizeof(bytes)))
		return false;
	bytes_init(&b, bytes, sizeof(bytes));
	*type = bytes_u16(&b);
	return true;
}

/* Finds the text of the script, which may move. False: the script is not there any more. */
static bool find_text(const struct reader *r, const struct managed_source *source, uint64_t *text)
{
	uint64_t id;
	uint16_t type;

	return read_type(r, source->object, &type) && type == r->layout->types[V8_SCRIPT] &&
	       read_word(r, source->object, r->layout->script_id, &id) &&
	       id == (uint64_t)source->id << 32 &&
	       read_word(r, source->object, r->layout->script_source, text);
}

static bool read_characters(struct reader *r, uint64_t addr, unsigned int width, uint64_t length,
			    struct line_starts *lines)
{
	_cleanup_free_ uint8_t *piece = xmalloc(PIECE);
	uint64_t size = length * width;

	if (size > r->left)
		return false;
	r->left -= size;
	while (size) {
		uint64_t now = size < PIECE ? size : PIECE;

		if (!r->read(r->ctx, addr, piece, now))
			return false;
		line_starts_add(lines, width, piece, now);
		addr += now;
		size -= now;
	}
	return true;
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

/* A string as it lies in memory. */
struct string {
	uint16_t type;
	uint64_t length, first, second; /* the words behind the length */
};

static bool read_string(const struct reader *r, uint64_t reference, struct string *s)
{
	uint8_t bytes[32];
	struct bytes b;

	if (!read_type(r, reference, &s->type) || s->type >= r->layout->string_end ||
	    !read_at(r, reference, 0, bytes, sizeof(bytes)))
		return false;
	bytes_init(&b, bytes, sizeof(bytes));
	bytes_seek(&b, V8_STRING_LENGTH);
	s->length = bytes_u32(&b);
	s->first = bytes_u64(&b);
	s->second = bytes_u64(&b);
	return true;
}

/* Reads a part, or replaces it by those that it is made of. False: it cannot be read. */
static bool read_part(struct reader *r, struct part *parts, size_t *count,
		      struct line_starts *lines)
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
				       width, part.length, lines);
	case EXTERNAL:
		return !(s.type & UNCACHED) && read_characters(r, s.second + part.skipped * width,
							       width, part.length, lines);
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

static bool read_text(struct reader *r, uint64_t text, struct line_starts *lines)
{
	struct part parts[PARTS_MAX] = {{.string = text}};
	size_t count = 1, hops = 0;
	bool is_read = true;

	r->left = SOURCE_MAX;
	while (is_read && count)
		is_read = ++hops < 4 * PARTS_MAX && read_part(r, parts, &count, lines);
	return is_read;
}

bool v8_read_source(const struct runtime_layout *layout, const struct managed_source *source,
		    runtime_read_fn *read, void *ctx, struct line_starts *lines)
{
	struct reader r = {.layout = &layout->v8, .read = read, .ctx = ctx};
	uint64_t text, again;

	for (int i = 0; i < TRIES; i++) {
		/* All that was read was the script's if it is the same as before. */
		if (find_text(&r, source, &text) && read_text(&r, text, lines) &&
		    find_text(&r, source, &again) && text == again)
			return true;
		line_starts_release(lines);
	}
	return false;
}
