/* SPDX-License-Identifier: MIT */
#include "lib/format/jslb_read.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/jslb.h"

/* Slabs of JSON within others. */
#define DEPTH_MAX 16
/* Text that a byte of the file may become: "-128," and ten references to a slab. */
#define GROWTH_MAX 64

struct slabs {
	const char *file;
	size_t size;
	struct jslb_head head;
	struct strbuf text; /* unpacked */
	size_t text_max;
};

static int damaged(struct error *err, const char *what)
{
	return error_text(err, -EBADMSG, "the JSLB file is damaged: %s", what);
}

static size_t size_of(uint32_t type)
{
	static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 1};

	return type < sizeof(sizes) ? sizes[type] : 0;
}

static bool find_slab(const struct slabs *s, uint64_t number, struct jslb_slab *slab)
{
	if (number >= s->head.slab_count)
		return false;
	memcpy(slab, s->file + sizeof(s->head) + number * sizeof(*slab), sizeof(*slab));
	return size_of(slab->type) && slab->offset <= s->size &&
	       slab->bytes <= s->size - slab->offset && slab->bytes % size_of(slab->type) == 0;
}

static void add_real(struct strbuf *out, double number)
{
	if (isfinite(number))
		strbuf_addf(out, "%.15g", number);
	else
		strbuf_adds(out, "null");
}

/* Writes a number as JSON. */
static void add_number(struct strbuf *out, uint32_t type, const char *at)
{
	uint64_t bits = 0;
	size_t size = size_of(type);
	float single;
	double real;

	memcpy(&bits, at, size);
	switch (type) {
	case JSLB_F32:
		memcpy(&single, at, sizeof(single));
		add_real(out, (double)single);
		break;
	case JSLB_F64:
		memcpy(&real, at, sizeof(real));
		add_real(out, real);
		break;
	case JSLB_I8:
	case JSLB_I16:
	case JSLB_I32:
	case JSLB_I64:
		/* The sign is at the top of what was read. */
		strbuf_addf(out, "%" PRId64, (int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size));
		break;
	default:
		strbuf_addf(out, "%" PRIu64, bits);
	}
}

static bool add_column(struct slabs *s, const struct jslb_slab *slab)
{
	size_t size = size_of(slab->type);

	strbuf_addch(&s->text, '[');
	for (size_t at = 0; at < slab->bytes; at += size) {
		if (s->text.size > s->text_max)
			return false;
		if (at)
			strbuf_addch(&s->text, ',');
		add_number(&s->text, slab->type, s->file + slab->offset + at);
	}
	strbuf_addch(&s->text, ']');
	return true;
}

/* Returns the end of a string that begins at `at`; `end` if it does not end. */
static const char *string_end(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		at += *at == '\\';
	return at < end ? at + 1 : end;
}

/* {"$s":3}: returns what follows, and the number; NULL: it is another object. */
static const char *scan_reference(const char *at, const char *end, uint64_t *number)
{
	static const char head[] = "{\"$s\":";
	const char *shape = head;

	for (; *shape; at++) {
		if (at == end)
			return NULL;
		if (*at == *shape)
			shape++;
		else if (!strchr(" \t\r\n", *at) || shape == head)
			return NULL;
	}
	while (at < end && *at == ' ')
		at++;
	for (*number = 0; at < end && *at >= '0' && *at <= '9' && *number < UINT32_MAX; at++)
		*number = 10 * *number + (uint64_t)(*at - '0');
	while (at < end && *at == ' ')
		at++;
	return at < end && *at == '}' ? at + 1 : NULL;
}

static bool add_json(struct slabs *s, const struct jslb_slab *slab, unsigned int depth);

static bool add_slab(struct slabs *s, uint64_t number, unsigned int depth)
{
	struct jslb_slab slab;

	if (depth > DEPTH_MAX || s->text.size > s->text_max || !find_slab(s, number, &slab))
		return false;
	return slab.type == JSLB_JSON ? add_json(s, &slab, depth) : add_column(s, &slab);
}

static bool add_json(struct slabs *s, const struct jslb_slab *slab, unsigned int depth)
{
	const char *at = s->file + slab->offset, *end = at + slab->bytes, *kept = at;
	uint64_t number;

	while (at < end) {
		const char *behind = *at == '{' ? scan_reference(at, end, &number) : NULL;

		if (behind) {
			strbuf_add(&s->text, kept, (size_t)(at - kept));
			if (!add_slab(s, number, depth + 1))
				return false;
			at = kept = behind;
		} else if (*at == '"') {
			at = string_end(at, end);
		} else {
			at++;
		}
	}
	strbuf_add(&s->text, kept, (size_t)(end - kept));
	return s->text.size <= s->text_max;
}

static int unpack(struct slabs *s, struct error *err)
{
	if (s->size < sizeof(s->head))
		return damaged(err, "it is cut off");
	memcpy(&s->head, s->file, sizeof(s->head));
	if (s->head.version != JSLB_VERSION)
		return error_text(err, -ENOTSUP,
				  "version %u of JSLB is not one that prof reads (%d)",
				  s->head.version, JSLB_VERSION);
	if (s->head.slab_count > (s->size - sizeof(s->head)) / sizeof(struct jslb_slab))
		return damaged(err, "it has fewer slabs than it says");
	s->text_max = s->size * GROWTH_MAX;
	return add_slab(s, s->head.root, 0) ? 0
					    : damaged(err, "a slab lies outside, or is too large");
}

int jslb_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	      struct error *err)
{
	struct slabs s = {.file = text, .size = size};
	int ret = unpack(&s, err);

	if (!ret)
		ret = format_firefox.read(p, strbuf_text(&s.text), s.text.size, counts, err);
	strbuf_release(&s.text);
	return ret;
}

bool jslb_matches(const char *text, size_t size)
{
	return size >= JSLB_MAGIC_SIZE && memcmp(text, JSLB_MAGIC, JSLB_MAGIC_SIZE) == 0;
}
