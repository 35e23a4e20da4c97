/* SPDX-License-Identifier: MIT */
#include "lib/runtimes/v8.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"

/* Names of tiers as the language has them. */
static const char *const tiers[V8_TIER_COUNT] = {
	[V8_TIER_UNKNOWN] = "Optimized",   [V8_TIER_INTERPRETED] = "Interpreter",
	[V8_TIER_BASELINE] = "Baseline",   [V8_TIER_MIDTIER] = "Mid-tier",
	[V8_TIER_OPTIMIZED] = "Optimized", [V8_TIER_BUILTIN] = "Builtin",
};

static void write_version(const struct runtime_layout *layout, char *text, size_t size)
{
	snprintf(text, size, "%u.%u", layout->v8.major, layout->v8.minor);
}

const struct runtime runtime_v8 = {
	.kind = RUNTIME_V8,
	.name = "JavaScript",
	.probe = v8_probe,
	.version = write_version,
	.decode = v8_decode,
	.read_source = v8_read_source,
};

static void decode_text(const struct sight_text *piece, struct bytes *body, struct strbuf *text,
			struct managed_code *code)
{
	const void *data = bytes_take(body, piece->size);

	strbuf_reset(text);
	if (data)
		v8_text(piece->width, data, piece->size, text);
	if (piece->flags & SIGHT_CUT)
		code->is_cut = true;
}

static void set_anonymous(struct strbuf *name)
{
	static const char anonymous[] = "(anonymous)";

	strbuf_add(name, anonymous, sizeof(anonymous) - 1);
}

/* A module has its address in place of a path. */
static void cut_scheme(struct strbuf *file)
{
	static const char scheme[] = "file://";
	size_t size = sizeof(scheme) - 1;

	if (file->size <= size || memcmp(file->text, scheme, size) != 0)
		return;
	memmove(file->text, file->text + size, file->size - size + 1);
	file->size -= size;
}

void v8_decode(const struct runtime_layout *layout, const struct rec_sight *sight,
	       struct managed_code *code)
{
	struct bytes body;
	const void *head, *table;
	struct v8_sight own;

	(void)layout;
	bytes_init(&body, sight->body, sight_body_size(sight));
	code->is_cut = code->lacks_text = false;
	code->first_line = 0;
	code->start = -1;
	code->tier = tiers[V8_TIER_UNKNOWN];
	code->source = (struct managed_source){0};
	vec_clear(&code->lines);
	vec_clear(&code->places);
	decode_text(&sight->name, &body, &code->name, code);
	decode_text(&sight->file, &body, &code->file, code);
	cut_scheme(&code->file);
	if (!code->name.size && !(sight->name.flags & SIGHT_UNREADABLE))
		set_anonymous(&code->name);
	head = bytes_take(&body, sizeof(own));
	if (!head || sight->lines.size < sizeof(own))
		return;
	memcpy(&own, head, sizeof(own));
	table = bytes_take(&body, sight->lines.size - sizeof(own));
	if (table)
		v8_places(table, sight->lines.size - sizeof(own), sight->units, code);
	if (own.tier < V8_TIER_COUNT)
		code->tier = tiers[own.tier];
	code->start = own.start < -1 ? -1 : own.start;
	code->source = (struct managed_source){own.script, own.script_id};
}

/* Reads a number of 7 bits a byte, the lowest first; its lowest bit is the sign. */
static bool read_number(struct bytes *b, int64_t *value)
{
	uint64_t bits = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (!bytes_left(b))
			return false;
		byte = bytes_u8(b);
		bits |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = (int64_t)(bits >> 1 ^ (0 - (bits & 1)));
			return true;
		}
	}
	return false;
}

/* Each entry: how far the code went on, negative if no statement begins; then the place. */
void v8_places(const void *table, size_t size, uint32_t units, struct managed_code *code)
{
	int64_t unit = 0, place = 0, delta;
	struct bytes b;

	bytes_init(&b, table, size);
	while (read_number(&b, &delta)) {
		uint64_t characters;

		/* No number of a real table is that large: sums cannot overflow. */
		if (delta < -(INT64_C(1) << 32) || delta > INT64_C(1) << 32)
			return;
		unit += delta < 0 ? -(delta + 1) : delta;
		if (!read_number(&b, &delta) || delta < -(INT64_C(1) << 48) ||
		    delta > INT64_C(1) << 48)
			return;
		place += delta;
		/* Bit 0: of another text; then the place plus 1. */
		characters = ((uint64_t)place >> 1 & 0x3fffffff) - 1;
		if (unit >= units || place < 0)
			return;
		if (place & 1 || characters > INT32_MAX)
			continue;
		vec_push(&code->places,
			 ((struct managed_place){(uint32_t)unit, (uint32_t)characters}));
	}
}
